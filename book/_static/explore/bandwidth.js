// Kernel regression on Engel's families: the bandwidth is a slider, and the question too.
"use strict";

explore.define("bandwidth", (live) => {
  const { html, svg, set, show } = explore;
  // Income and food bill of 235 families, in francs.
  const DATA = [
    420.15765084,255.83942459, 541.41170672,310.95866706, 901.15745665,485.68001417,
    639.08022869,402.99735554, 750.87560583,495.56077493, 945.79893105,633.79781513,
    829.39788685,630.75656771, 979.16483584,700.44090427, 1309.87894038,830.95862151,
    1492.39874437,815.36021729, 502.83898022,338.00138733, 616.71684724,412.36133843,
    790.92251129,520.00061798, 555.87864164,452.40147291, 713.44118368,512.72005784,
    838.75613272,658.8395303, 535.0766459,392.59949675, 596.44080536,443.5586338,
    924.56189658,640.11637771, 487.75830182,333.83938698, 692.63973424,466.95831853,
    997.87697782,543.39690426, 506.99949118,317.71984376, 654.1587114,424.32089635,
    933.91927018,518.96165605, 433.68132925,338.00138733, 587.59621334,419.64117463,
    896.47463564,476.32004893, 454.47822378,386.36016331, 584.99891937,423.27834981,
    800.79901662,503.35717119, 502.4368699,354.63886855, 713.51966653,497.31816883,
    906.00062873,588.51946396, 880.59692379,654.5971446, 796.82891937,550.7274276,
    854.87905261,528.37697671, 1167.37159427,640.48134806, 523.80003558,401.32035555,
    670.77918543,435.9990219, 377.05836885,276.56060965, 851.54300175,588.34881806,
    1121.09369365,664.1978022, 625.5179334,444.86016641, 805.53769617,462.89951486,
    558.58120147,377.77923855, 884.40048732,553.15043562, 1257.49886577,810.89615476,
    2051.178941,1067.95405614, 1466.33299215,1049.87879169, 730.09889677,522.70120968,
    800.79901662,572.08066262, 1245.69638761,907.39694458, 1201.00021368,811.5775937,
    634.40020915,427.7975202, 956.23146314,649.99846412, 1148.60104703,860.60015456,
    1768.82364982,1143.42108583, 2822.53303467,2032.67919021, 922.35483214,590.61832701,
    2293.19197144,1570.39113832, 627.47259704,483.48002466, 889.98089838,600.48039909,
    1162.19995393,696.20210575, 1197.07935708,774.79617906, 530.79718546,390.5984304,
    1142.15259257,612.5619009, 1088.00388698,708.76215159, 484.66115632,296.91918577,
    1536.02010068,1071.46269647, 678.89739214,496.59758004, 671.88016585,503.39744137,
    690.46825648,357.64111088, 860.69482578,430.33759272, 873.3094846,624.6990414,
    894.45983521,582.54125094, 1148.64699199,580.22154225, 926.87619299,543.88074278,
    839.04135829,588.63717962, 829.49742057,627.99989546, 1264.00432958,712.10117426,
    1937.97714637,968.39494006, 698.83174143,482.58158762, 920.41991936,593.16938558,
    1897.57113999,1033.56575427, 891.6823863,693.67947345, 889.67835631,693.67947345,
    1221.48181115,761.27906582, 544.5991394,361.39805634, 1031.44911477,628.4522182,
    1462.94967217,771.44856442, 830.43528244,757.11866645, 975.04146666,821.59699409,
    1337.99833996,1022.32017042, 867.64270523,679.44072736, 725.7459337,538.74911569,
    989.00560604,679.99809725, 1525.00047421,977.00327096, 672.19602375,561.20148818,
    923.3976822,728.39974662, 472.32154828,372.31862258, 590.76009242,361.52095257,
    940.9217689,517.91959075, 643.35714146,459.81765099, 2551.66151378,863.91985147,
    1795.32258883,831.4407173, 1165.77339021,534.76104379, 815.62117431,392.05024202,
    1264.20658645,934.97519544, 1095.40561684,813.3080963, 447.44785241,263.70999617,
    1178.97417955,769.08384902, 975.80229569,630.58628642, 1017.85220007,645.98740068,
    423.87983201,319.55838635, 558.7767391,348.4518301, 943.24871827,614.50680316,
    1348.30024453,662.00956204, 2340.61735388,1504.37077491, 587.1791681,406.21801572,
    1540.97405699,692.16889932, 1115.84807482,588.1370506, 1044.6842859,511.26088598,
    1389.79286912,700.55998934, 2497.78595384,1301.14509755, 1585.38094297,879.06601741,
    1862.04383602,912.88507825, 2008.85462435,1509.78117185, 697.30994759,484.06054894,
    571.25174677,399.6703171, 598.34648948,444.10010556, 461.09772253,248.81011122,
    977.11074723,527.80135958, 883.98491676,500.63134906, 718.35939934,436.81073474,
    543.89705945,374.79904412, 1587.34803468,726.3921351, 4957.81302448,1827.19996444,
    969.68376221,523.49108471, 419.99802127,334.99982184, 561.99896036,473.20088389,
    689.59881434,581.20294571, 1398.52026072,929.75396743, 820.81684757,591.19741668,
    875.17161626,637.54827522, 1392.44991017,674.95093544, 1256.31737222,776.75889518,
    1362.85902989,959.51696848, 1999.25521962,1250.96433391, 1209.47299211,737.82007938,
    1125.0356466,810.67724235, 1827.40096749,983.0008649, 1014.15395296,708.8968292,
    880.39440978,633.12001416, 2432.39099224,1424.80465629, 1177.85468592,830.95862151,
    1222.5938655,925.57947423, 1519.58112469,1162.00239673, 687.66376169,383.45796272,
    953.11922427,621.1173292, 953.11922427,621.1173292, 953.11922427,621.1173292,
    939.04180595,548.60023123, 1283.40245731,745.23529446, 1511.57888087,837.80049555,
    1342.58212809,795.34024164, 511.79799184,418.59756794, 689.79882699,508.79744989,
    1532.30742618,883.27801162, 1056.08082483,742.52756903, 387.31952563,242.32020192,
    387.31952563,242.32020192, 410.99867884,266.00098187, 832.75543198,614.75880261,
    614.9986053,385.31839789, 887.46581296,515.61996903, 1024.81767736,708.47870343,
    1006.4353394,734.23563081, 725.99998924,433.00098378, 494.41735071,327.41877204,
    748.64132725,429.03993364, 987.6417196,619.64082769, 788.09607105,400.79897805,
    831.79831369,620.80064013, 1139.49447494,819.996441, 507.51689449,360.87801766,
    576.1972212,395.76080461, 696.59905407,442.00005212, 650.81797837,404.03843113,
    949.58020741,670.79930911, 497.11928134,297.57015134, 570.1673989,353.48816313,
    724.7306003,383.93758488, 408.33993438,284.80080327, 638.6713482,431.09996476,
    1225.78900333,801.35175861, 715.37007772,448.451259, 800.47075632,577.91107075,
    975.59739872,570.5210123, 1613.75654835,865.32053588, 608.50187879,444.55776433,
    958.66337828,680.41982679, 835.94264143,576.27789445, 873.7375111,631.79817513,
    951.44320977,608.64185032, 473.00218125,300.99992031, 601.00304435,377.99841406,
    713.99788489,397.00147657, 829.29836507,588.51946396, 959.79526875,681.76157504,
    1212.96129507,807.3602701, 958.87430742,696.80109709, 1129.44314702,811.19624185,
    1943.04187331,1305.72014134, 539.6387855,442.00005212, 463.59902113,353.60129744,
    562.6400045,468.00079751, 736.75838307,526.7573468, 1415.44606403,890.23903027,
    2208.78970566,1318.80328224, 636.00091372,331.00053775, 759.40102686,416.40152538,
    1078.83819962,596.8405546, 499.7510128,408.49921801, 1020.02253585,775.02090253,
    1595.16107886,1138.16204602, 776.59579294,485.51976621, 1230.92352504,772.76114235,
    1807.9520146,993.96301727, 415.44074799,305.43897373, 440.51742416,306.51907857,
    541.20059732,299.19932797, 581.35989169,468.00079751, 743.07724279,522.60190588,
    1057.67671146,750.32016342,
  ];
  const income = DATA.filter((_, i) => i % 2 === 0);
  const food = DATA.filter((_, i) => i % 2 === 1);
  const WIDTH = 360, HEIGHT = 300, FLOOR = 262, RICHEST = 5000, MOST = 2200;
  const state = { asked: 800, log: 2 };

  const predict = (asked, h) => {
    const weights = explore.softmax(income.map((x) => -(((asked - x) / h) ** 2) / 2));
    return { weights, bill: explore.dot(weights, food) };
  };
  // Once for each of 75 bandwidths and 235 families: plain loops, without arrays between.
  const leftOut = (h) => {
    let missed = 0;
    for (let i = 0; i < income.length; i += 1) {
      let nearest = Infinity, sum = 0, bills = 0;
      for (let j = 0; j < income.length; j += 1) {
        if (j !== i) nearest = Math.min(nearest, ((income[i] - income[j]) / h) ** 2);
      }
      for (let j = 0; j < income.length; j += 1) {
        if (j === i) continue;
        const weight = Math.exp((nearest - ((income[i] - income[j]) / h) ** 2) / 2);
        sum += weight;
        bills += weight * food[j];
      }
      missed += (bills / sum - food[i]) ** 2;
    }
    return Math.sqrt(missed / income.length);
  };

  const line = (d, color, width = 1, dash = null) => svg("path", { d, fill: "none",
    stroke: color, "stroke-width": width, "stroke-dasharray": dash,
    "stroke-linejoin": "round" });
  const text = (x, y, words, anchor = "middle", kind = "faint") =>
    svg("text", { x, y, "text-anchor": anchor, class: kind }, words);
  const path = (points) => `M${points.map(([x, y]) =>
    `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}`;
  const bold = "var(--explore-accent)", rule = "var(--explore-line)";

  // The families
  const left = 38;
  const px = (x) => left + (x / RICHEST) * (WIDTH - left);
  const py = (y) => FLOOR - (y / MOST) * (FLOOR - 14);
  const families = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group",
    "aria-label": "food bill against income of 235 families" });
  families.append(line(`M${left} 8V${FLOOR}H${WIDTH}`, rule));
  for (const x of [1000, 2000, 3000, 4000]) {
    families.append(line(`M${px(x)} ${FLOOR}v4`, rule), text(px(x), FLOOR + 18,
      x.toLocaleString("en-US")));
  }
  for (const y of [500, 1000, 1500, 2000]) {
    families.append(line(`M${left} ${py(y)}h-4`, rule), text(left - 6, py(y) + 4,
      y.toLocaleString("en-US"), "end"));
  }
  families.append(text(WIDTH, FLOOR + 34, "income (francs)", "end"),
    text(left + 6, 16, "food (francs)", "start"));
  const bell = svg("path", { fill: bold, "fill-opacity": 0.2 });
  const dots = income.map((x, i) => svg("circle", { cx: px(x).toFixed(2),
    cy: py(food[i]).toFixed(2), r: 2.6, fill: bold }));
  const fit = line("", "var(--explore-share)", 2.5);
  const bill = svg("path", { class: "part-bill", d: "M0 -8L8 0L0 8L-8 0Z", fill: "var(--explore-new)",
    stroke: "var(--explore-ground)", "stroke-width": 1.5 });
  const query = svg("g", { class: "explore-handle part-income", tabindex: 0, role: "slider",
    "aria-label": "income asked about", "aria-valuemin": 350, "aria-valuemax": RICHEST },
    svg("circle", { class: "hit", cy: FLOOR, r: 16 }),
    line(`M0 24V${FLOOR}`, bold, 1.5, "4 3"),
    svg("path", { d: `M0 ${FLOOR - 4}l7 12h-14z`, fill: bold }));
  families.append(bell, ...dots, fit, query, bill);

  // The error when each family is left out
  const LOGS = Array.from({ length: 75 }, (_, i) => i * 0.05);
  const errors = LOGS.map((log) => leftOut(10 ** log));
  const lx = (log) => left + (log / 3.7) * (WIDTH - left);
  const ly = (error) => FLOOR - ((error - 80) / 220) * (FLOOR - 14);
  const choice = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group",
    "aria-label": "leave-one-out error against the bandwidth" });
  choice.append(line(`M${left} 8V${FLOOR}H${WIDTH}`, rule));
  for (const h of [1, 10, 100, 1000]) {
    const x = lx(Math.log10(h));
    choice.append(line(`M${x} ${FLOOR}v4`, rule), text(x, FLOOR + 18,
      h.toLocaleString("en-US")));
  }
  for (const error of [100, 150, 200, 250]) {
    choice.append(line(`M${left} ${ly(error)}h-4`, rule),
      text(left - 6, ly(error) + 4, error, "end"));
  }
  const marker = svg("g", { class: "explore-handle part-error", tabindex: 0, role: "slider",
    "aria-label": "bandwidth", "aria-valuemin": 1, "aria-valuemax": 5012 },
    svg("circle", { class: "hit", r: 16 }), svg("circle", { r: 6, fill: bold }));
  choice.append(text(WIDTH, FLOOR + 34, "bandwidth (francs)", "end"),
    text(left + 6, 16, "error, each family left out (francs)", "start"),
    set(line(path(LOGS.map((log, i) => [lx(log), ly(errors[i])])), "var(--explore-faint)", 2),
      { class: "part-error" }),
    marker);

  // Numbers and controls
  const francs = (h) => (h < 10 ? explore.number(h, 1) : Math.round(h).toLocaleString("en-US"));
  const width = explore.slider({ label: "bandwidth", min: 0, max: 3.7, step: 0.01,
    value: state.log, text: (log) => `${francs(10 ** log)} francs`,
    change: (log) => { state.log = log; draw(); } });
  const asked = explore.slider({ label: "income", min: 350, max: RICHEST, step: 10,
    value: state.asked, text: (x) => `${x.toLocaleString("en-US")} francs`,
    change: (x) => { state.asked = x; draw(); } });
  const numbers = {}, table = html("table", {}, html("tbody"));
  for (const [key, name] of Object.entries({ bill: "prediction (blue)",
    neighbors: "effective neighbors", largest: "largest weight",
    temperature: "temperature h²", error: "error, left out" })) {
    numbers[key] = html("td", { class: "number" });
    table.tBodies[0].append(html("tr", {}, html("th", { scope: "row" }, name), numbers[key]));
  }
  const say = explore.status();
  const turn = (log) => { state.log = explore.clamp(Math.round(log * 100) / 100, 0, 3.7);
    width.set(state.log); draw(); };
  const ask = (x) => { state.asked = explore.clamp(Math.round(x / 10) * 10, 350, RICHEST);
    asked.set(state.asked); draw(); };
  explore.draggable(families, query, {
    move: (x) => ask(((x - left) / (WIDTH - left)) * RICHEST),
    step: (x, y) => ask(state.asked + 10 * (x + y)) });
  explore.draggable(choice, marker, {
    move: (x) => turn(((x - left) / (WIDTH - left)) * 3.7),
    step: (x, y) => turn(state.log + 0.01 * (x + y)) });
  live.append(
    html("div", { class: "explore-controls" }, width.node, asked.node),
    html("div", { class: "explore-panels" }, families, choice),
    table, say);

  function draw() {
    const h = 10 ** state.log, { weights, bill: guess } = predict(state.asked, h);
    const largest = Math.max(...weights), error = leftOut(h);
    const neighbors = 1 / explore.dot(weights, weights);
    dots.forEach((dot, i) =>
      set(dot, { "fill-opacity": (0.2 + (0.8 * weights[i]) / largest).toFixed(3) }));
    const grid = Array.from({ length: 160 }, (_, i) => 400 + (i * 4560) / 159);
    set(fit, { d: path(grid.map((x) => [px(x), py(predict(x, h).bill)])) });
    const hill = Array.from({ length: 161 }, (_, i) => (i * RICHEST) / 160)
      .concat(state.asked).sort((a, b) => a - b)
      .map((x) => [px(x), FLOOR - 60 * Math.exp(-(((x - state.asked) / h) ** 2) / 2)]);
    set(bell, { d: `${path([[left, FLOOR], ...hill, [WIDTH, FLOOR]])}Z` });
    set(query, { transform: `translate(${px(state.asked)} 0)`, "aria-valuenow": state.asked,
      "aria-valuetext": `${state.asked} francs` });
    set(bill, { transform: `translate(${px(state.asked)} ${py(guess)})` });
    set(marker, { transform: `translate(${lx(state.log)} ${ly(error)})`, "aria-valuenow": h,
      "aria-valuetext": `${francs(h)} francs` });
    show(numbers.bill, guess, 1);
    show(numbers.neighbors, neighbors, 1);
    show(numbers.largest, largest, 3);
    show(numbers.error, error, 1);
    numbers.temperature.textContent = Math.round(h * h).toLocaleString("en-US");
    numbers.temperature.dataset.value = h * h;
    explore.say(say, `With a bandwidth of ${francs(h)} francs, about ${
      explore.number(neighbors, 0)} ${neighbors < 1.5 ? "family shares" : "families share"
      } the weight, and the prediction at ${state.asked.toLocaleString("en-US")} francs is ${
      explore.number(guess, 0)}. Families that are left out are missed by ${
      explore.number(error, 0)} francs (root mean square).`);
  }
  draw();
});
