// A GPT as the book has it, which reads one token after the other and keeps keys and values.
"use strict";

explore.decoder = (weights, { layers, heads }) => {
  const EPS = 1e-5, BASE = 10000;
  const add = (a, b) => a.map((value, i) => value + b[i]);
  // A matrix is its rows. Where these are whole numbers, each has a scale.
  const linear = (x, name) => {
    const bias = weights[`${name}.bias`], scale = weights[`${name}.weight.scale`];
    return weights[`${name}.weight`].map((row, i) =>
      explore.dot(row, x) * (scale ? scale[i] : 1) + (bias ? bias[i] : 0));
  };
  const norm = (x, name) => {
    const mean = x.reduce((a, b) => a + b, 0) / x.length;
    const variance = x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length;
    return x.map((v, i) => ((v - mean) / Math.sqrt(variance + EPS))
      * weights[`${name}.weight`][i] + weights[`${name}.bias`][i]);
  };
  const erf = (x) => { // a sum without differences
    if (Math.abs(x) > 6) return Math.sign(x);
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  };
  const gelu = (x) => (x * (1 + erf(x / Math.SQRT2))) / 2;
  // RoPE: entry m and its partner half a head further on turn with the place.
  const turn = (x, t) => x.map((value, m) => {
    const half = x.length / 2, angle = t * BASE ** (-(m % half) / half);
    return m < half ? value * Math.cos(angle) - x[m + half] * Math.sin(angle)
      : value * Math.cos(angle) + x[m - half] * Math.sin(angle);
  });
  const embed = (id) => {
    const scale = weights["tokens.weight.scale"];
    return Array.from(weights["tokens.weight"][id], (v) => v * (scale ? scale[id] : 1));
  };
  const split = (x) => {
    const size = x.length / heads;
    return Array.from({ length: heads }, (_, h) => x.slice(h * size, (h + 1) * size));
  };

  return {
    // An empty cache: of each layer keys and values, a list of heads for each token.
    begin: () => Array.from({ length: layers }, () => ({ keys: [], values: [] })),
    // Take a token in: its vector after the table and each layer, each head's weights.
    // Heads that are `off`, numbered through all layers, give nothing to the stream.
    read(id, cache, off = new Set()) {
      let x = embed(id);
      const levels = [x], maps = [];
      cache.forEach(({ keys, values }, layer) => {
        const block = `blocks.${layer}`, t = keys.length;
        const seen = norm(x, `${block}.attention_norm`);
        const [q, k, v] = ["q", "k", "v"].map((letter) =>
          split(linear(seen, `${block}.attention.${letter}_proj`)));
        keys.push(k.map((part) => turn(part, t)));
        values.push(v);
        const map = q.map((part, h) => {
          const asked = turn(part, t);
          return explore.softmax(keys.map((key) =>
            explore.dot(asked, key[h]) / Math.sqrt(part.length)));
        });
        const mixed = map.flatMap((row, h) => v[h].map((_, d) => (off.has(layer * heads + h)
          ? 0 : row.reduce((sum, weight, j) => sum + weight * values[j][h][d], 0))));
        x = add(x, linear(mixed, `${block}.attention.o_proj`));
        const up = linear(norm(x, `${block}.feed_forward_norm`), `${block}.feed_forward.up_proj`);
        x = add(x, linear(up.map(gelu), `${block}.feed_forward.down_proj`));
        levels.push(x);
        maps.push(map);
      });
      return { levels, maps };
    },
    logits: (x) => linear(norm(x, "norm"), "tokens"),
  };
};

// Weights by name: matrices as rows of whole numbers, and vectors.
explore.unpack = ({ matrices, vectors, whole, floats }) => {
  const weights = {}, numbers = new Int8Array(explore.bytes(whole).buffer);
  let at = 0;
  for (const [name, [rows, columns]] of Object.entries(matrices)) {
    weights[name] = Array.from({ length: rows }, () => numbers.subarray(at, at += columns));
  }
  const view = new DataView(explore.bytes(floats).buffer);
  at = 0;
  for (const [name, length] of Object.entries(vectors)) {
    weights[name] = Float64Array.from({ length }, () => view.getFloat32(4 * at++, true));
  }
  return weights;
};

// Draw a place with these probabilities.
explore.draw = (p, uniform = Math.random()) => {
  let left = uniform;
  const at = p.findIndex((each) => (left -= each) < 0);
  return at < 0 ? p.indexOf(Math.max(...p)) : at;
};

// Probabilities at a temperature, of the likeliest that have `p` together.
explore.nucleus = (logits, temperature, p) => {
  const top = Math.max(...logits);
  if (temperature === 0) return logits.map((_, i) => Number(i === logits.indexOf(top)));
  const all = explore.softmax(logits.map((z) => z / temperature));
  const kept = all.map(() => 0);
  let sum = 0;
  for (const i of all.map((_, at) => at).sort((a, b) => all[b] - all[a])) {
    if (sum >= p) break;
    kept[i] = all[i];
    sum += all[i];
  }
  return kept.map((each) => each / sum);
};
