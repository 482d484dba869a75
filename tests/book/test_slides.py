"""Slides of a page: what a lecturer shows, and nothing of what is said."""

import re

import slides

PAGE = """
<article><section>
<h1><span class="section-number">3. </span>Things<a class="headerlink">#</a></h1>
<p><em>27 minutes · builds on nothing</em></p>
<p>There are things. Which one is <a href="x.html">next</a>? We shall see.</p>
<blockquote><p>a thing</p></blockquote>
<figure><img alt="Dots" src="dots.svg"><figcaption><p>
<span class="caption-number">Fig.</span><span class="caption-text">Dots are here.</span>
</p></figcaption></figure>
<section><h2><span class="section-number">3.1. </span>A rule</h2>
<p>Words that are said.</p>
<div class="math" id="equation-eq-a"><div class="formula"><math><mi>x</mi></math></div>
<span class="eqno">(3.1)</span></div>
<p>It adds one. Then more is said.</p>
<div class="framework-tabs"><label class="sd-tab-label">PyTorch</label>
<div class="sd-tab-content"><div class="cell_input"><pre>import torch

class A(nn.Module):
    pass

print(A())</pre></div><div class="cell_output"><pre>1
2
3
4</pre></div></div>
<label class="sd-tab-label">Flax NNX</label>
<div class="sd-tab-content"><div class="cell_input"><pre>class JA(nnx.Module):
    {line}</pre></div><div class="cell_output"><pre>5
6
7
8</pre></div></div></div>
<div class="cell_input"><pre>print(1)</pre></div>
<div class="cell_output"><pre>one line</pre></div>
</section>
<section id="exercises"><h2>Exercises</h2>
<div class="exercise"><p><span class="caption-number">Exercise 3.1</span>
(By hand: a sum · easy)</p><div class="math" id="b">y</div></div></section>
<section id="summary"><h2>Summary</h2><ul><li><p>It adds one.</p></li></ul></section>
</section></article>
"""


def made(tmp_path, line="pass"):
    page = tmp_path / "page.html"
    page.write_text(PAGE.replace("{line}", line))
    (tmp_path / "dots.svg").write_text("<svg></svg>")
    return list(slides.slides(tmp_path, page))


def test_a_deck_has_the_page_s_pieces_in_order_and_not_its_words(tmp_path):
    deck = made(tmp_path)
    assert [(slide.kind, slide.heading) for slide in deck] == [
        ("title", "3. Things"),
        ("picture", "3. Things"),
        ("formula", "A rule"),
        ("both", "A rule"),
        ("printed", "A rule"),
        ("list", "Summary"),
        ("list", "Exercises"),
    ]
    text = [re.sub(r"<[^>]*>", " ", slide.body).split() for slide in deck]
    assert " ".join(text[0]) == "There are things. Which one is next? a thing"
    assert " ".join(text[2]) == "x (3.1) It adds one."
    assert " ".join(text[4]) == "1 2 3 4"  # of the first framework
    assert " ".join(text[6]) == "By hand: a sum · easy"
    assert "class A(nn.Module):\n    pass</pre>" in deck[3].body
    assert "import" not in deck[3].body  # what the cell does besides
    assert "said" not in " ".join(slide.body for slide in deck)
    assert 'src="data:image/svg+xml;base64,' in deck[1].body
    assert not any("href" in slide.body for slide in deck)


def test_a_class_with_long_lines_has_a_slide_for_each_framework(tmp_path):
    deck = made(tmp_path, "x = " + "1 + " * 20 + "1")
    parts = [slide for slide in deck if slide.kind == "one"]
    assert ["PyTorch" in part.body for part in parts] == [True, False]
    assert ["Flax NNX" in part.body for part in parts] == [False, True]


def test_a_long_class_is_parted_between_its_methods():
    method = "    def f(self):\n" + "        pass\n" * 10
    parts = slides.split("class A(nn.Module):\n" + "\n".join([method] * 4))
    assert len(parts) == 2
    assert all(part.count("def f") == 2 for part in parts)
    assert parts[1].startswith("    def f")


def test_whole_sentences_are_taken_and_their_tags_are_closed():
    text = "One is <em>here. Two</em> are there. Three."
    assert slides.sentences(text, 10) == "One is <em>here.</em>"
    assert slides.sentences(text, 30) == "One is <em>here. Two</em> are there."
