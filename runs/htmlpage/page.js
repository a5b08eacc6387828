"use strict";
// Draws the lanes of the hosts on a canvas: only the lanes in sight, so that a thousand
// hosts cost no more than thirty. Texts of hosts go into text nodes and onto the canvas,
// never into markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const lanes = byId("lanes"), canvas = byId("canvas"), space = byId("space"), status = byId("status"), detail = byId("detail");
  const pen = canvas.getContext("2d");
  const axis = 22, least = 20;
  let colors = {}, hatch = null, rows = [], from = 0, to = Math.max(data.length, 1), chosen = 0, part = -1, width = 0, height = 0, names = 120;

  // Each host gets its spans and waits as objects with times, in the order of their ends.
  const hosts = data.hosts.map((h, index) => {
    const parts = [];
    let end = 0;
    for (let i = 0; i < h.s.length; i += 4) {
      const start = end + h.s[i + 1];
      end = start + h.s[i + 2];
      parts.push({ start, end, step: h.s[i], outcome: h.s[i + 3], on: h.d && h.d[i / 4] });
    }
    let waited = 0, until = 0;
    for (let i = 0; h.w && i < h.w.length; i += 4) {
      const start = until + h.w[i + 1];
      until = start + h.w[i + 2];
      waited += h.w[i + 2];
      parts.push({ start, end: until, reason: h.w[i], cause: h.w[i + 3] });
    }
    parts.sort((a, b) => a.start - b.start || a.end - b.end);
    return { index, name: h.n, broken: !!h.b, parts, waited, last: Math.max(end, until), path: [] };
  });
  for (const [host, start, end] of data.path) hosts[host].path.push([start, end]);

  const clock = (ms) => ms < 100 ? ms + " ms" : ms < 60000 ? (ms / 1000).toFixed(1) + " s" :
    ms < 3600000 ? Math.floor(ms / 60000) + " min " + Math.floor(ms / 1000) % 60 + " s" : Math.floor(ms / 3600000) + " h " + Math.floor(ms / 60000) % 60 + " min";

  const describe = (p) => {
    const times = ", from " + clock(p.start) + ", took " + clock(p.end - p.start);
    if (p.step !== undefined) return data.steps[p.step] + ": " + data.outcomes[p.outcome] + (p.on ? " on " + p.on : "") + times;
    return "waits for " + data.reasons[p.reason] + (p.cause >= 0 ? ", caused by " + hosts[p.cause].name : "") + times;
  };

  const laneHeight = () => byId("dense").checked ? 5 : 18;

  function readColors() {
    const of = getComputedStyle(document.documentElement);
    for (const name of ["back", "panel", "text", "soft", "line", "focus", "wait", "path", ...data.outcomes]) colors[name] = of.getPropertyValue("--" + name).trim();
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = tile.getContext("2d");
    t.strokeStyle = colors.wait;
    t.lineWidth = 1.5;
    for (const d of [-6, 0, 6]) { t.beginPath(); t.moveTo(d, 6); t.lineTo(d + 6, 0); t.stroke(); }
    hatch = pen.createPattern(tile, "repeat");
  }

  function choose() {
    const want = byId("filter").value, text = byId("search").value.toLowerCase(), order = byId("order").value;
    const current = rows[chosen];
    rows = hosts.filter((h) => (want === "all" || want === "broken" && h.broken || want === "path" && h.path.length) && h.name.toLowerCase().includes(text));
    const by = { broken: (a, b) => b.broken - a.broken, inventory: () => 0, last: (a, b) => b.last - a.last, waited: (a, b) => b.waited - a.waited }[order];
    rows.sort((a, b) => by(a, b) || a.index - b.index);
    chosen = Math.max(rows.indexOf(current), 0);
    part = -1;
    resize();
    status.textContent = rows.length === 1 ? "1 host" : rows.length + " hosts";
  }

  function resize() {
    space.style.height = "0";
    lanes.style.height = Math.max(rows.length * laneHeight(), 60) + axis + 4 + "px"; // the style has the maximum
    height = lanes.clientHeight;
    space.style.height = Math.max(rows.length * laneHeight() + axis - height, 0) + "px";
    width = lanes.clientWidth; // without the scroll bar
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    names = Math.min(Math.max(90, width * 0.14), 180);
    draw();
  }

  const x = (time) => names + (time - from) / (to - from) * (width - names - 4);
  const timeAt = (px) => from + (px - names) / (width - names - 4) * (to - from);

  function draw() {
    pen.fillStyle = colors.back;
    pen.fillRect(0, 0, width, height);
    const h = laneHeight(), first = Math.floor(lanes.scrollTop / h);
    for (let i = first; i < rows.length && (i - first) * h < height; i++) drawLane(rows[i], i, axis + i * h - lanes.scrollTop, h);
    drawAxis();
  }

  function drawAxis() {
    pen.fillStyle = colors.panel;
    pen.fillRect(0, 0, width, axis);
    pen.fillStyle = colors.soft;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const raw = (to - from) / Math.max((width - names) / 110, 1);
    const units = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 144e5, 432e5, 864e5];
    const unit = units.find((u) => u >= raw) || raw;
    for (let t = Math.ceil(from / unit) * unit; t <= to; t += unit) {
      const px = Math.round(x(t)) + 0.5;
      pen.strokeStyle = colors.line;
      pen.beginPath(); pen.moveTo(px, axis - 5); pen.lineTo(px, height); pen.globalAlpha = 0.5; pen.stroke(); pen.globalAlpha = 1;
      if (px + 60 < width) pen.fillText(clock(t), px + 3, axis / 2);
    }
  }

  function drawLane(host, i, top, h) {
    const pad = h > 10 ? 3 : 1, full = h - 2 * pad;
    if (i === chosen) { pen.fillStyle = colors.panel; pen.fillRect(0, top, width, h); }
    pen.save();
    pen.beginPath(); pen.rect(names, top, width - names, h); pen.clip();
    for (const p of host.parts) {
      if (p.end < from || p.start > to) continue;
      const left = x(p.start), wide = Math.max(x(p.end) - left, 1);
      if (p.step === undefined) {
        pen.fillStyle = hatch;
        pen.fillRect(left, top + pad, wide, full);
        continue;
      }
      const how = data.outcomes[p.outcome], low = how === "ok" || how === "cancelled";
      pen.fillStyle = colors[how];
      pen.fillRect(left, top + (low && h > 10 ? pad + 3 : pad), how === "failed" || how === "unreachable" ? Math.max(wide, 3) : wide, low && h > 10 ? full - 6 : full);
    }
    pen.fillStyle = colors.path;
    for (const [start, end] of host.path) if (end >= from && start <= to) pen.fillRect(x(start), top + h - 2, Math.max(x(end) - x(start), 1), 2);
    const p = i === chosen && host.parts[part];
    if (p) {
      pen.strokeStyle = colors.focus;
      pen.lineWidth = 2;
      pen.strokeRect(x(p.start) - 1, top + 1, Math.max(x(p.end) - x(p.start), 2) + 2, h - 2);
      pen.lineWidth = 1;
    }
    pen.restore();
    if (h < 10 && i !== chosen) return;
    pen.fillStyle = host.broken ? colors.failed : colors.text;
    pen.font = (i === chosen ? "bold " : "") + "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let name = (host.broken ? "✕ " : "") + host.name;
    while (name.length > 4 && pen.measureText(name).width > names - 10) name = name.slice(0, -2) + "…";
    if (h < 10) { pen.save(); pen.fillRect(0, top, 3, h); pen.restore(); return; }
    pen.fillText(name, 6, top + h / 2);
  }

  function show(announce) {
    const h = laneHeight(), top = chosen * h;
    if (top < lanes.scrollTop) lanes.scrollTop = top;
    if (top + h > lanes.scrollTop + height - axis) lanes.scrollTop = top + h - height + axis;
    const host = rows[chosen], p = host && host.parts[part];
    if (p && (p.end < from || p.start > to)) move((p.start + p.end) / 2 - (from + to) / 2);
    if (host && announce) status.textContent = host.name + (host.broken ? " (failed)" : "") + (p ? ": " + describe(p) : ": " + host.parts.length + " steps and waits, waited " + clock(host.waited) + ", ended at " + clock(host.last));
    draw();
  }

  function move(by) {
    by = Math.max(-from, Math.min(by, data.length - to));
    from += by;
    to += by;
  }

  function zoom(factor, around) {
    const span = Math.min(Math.max((to - from) * factor, Math.min(least, data.length || 1)), Math.max(data.length, 1));
    const share = (around - from) / (to - from);
    from = Math.max(around - span * share, 0);
    to = from + span;
    if (to > data.length) { to = Math.max(data.length, 1); from = Math.max(to - span, 0); }
    draw();
  }

  const middle = () => { const p = rows[chosen] && rows[chosen].parts[part]; return p ? Math.min(Math.max((p.start + p.end) / 2, from), to) : (from + to) / 2; };
  const whole = () => { from = 0; to = Math.max(data.length, 1); draw(); };
  const sideways = (by) => { move(by * (to - from) / 4); draw(); };

  function list() {
    const host = rows[chosen];
    if (!host) return;
    const table = document.createElement("table");
    const caption = table.createCaption();
    caption.textContent = "Steps and waits of " + host.name;
    const head = table.createTHead().insertRow();
    for (const title of ["From", "Took", "Outcome", "Step or wait"]) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = title;
      head.append(th);
    }
    const body = table.createTBody();
    for (const p of host.parts) {
      const row = body.insertRow(), wait = p.step === undefined;
      const what = wait ? data.reasons[p.reason] + (p.cause >= 0 ? ", caused by " + hosts[p.cause].name : "") : data.steps[p.step] + (p.on ? ", on " + p.on : "");
      for (const text of [clock(p.start), clock(p.end - p.start), wait ? "waits" : data.outcomes[p.outcome], what]) row.insertCell().textContent = text;
    }
    detail.replaceChildren(table);
    detail.hidden = false;
    detail.focus();
  }

  function onKey(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const host = rows[chosen], page = Math.max(Math.floor((height - axis) / laneHeight()) - 1, 1);
    const to = (i) => { chosen = Math.min(Math.max(i, 0), Math.max(rows.length - 1, 0)); part = -1; show(true); };
    const step = (i) => { if (host) { part = Math.min(Math.max(i, 0), host.parts.length - 1); show(true); } };
    const actions = {
      ArrowDown: () => to(chosen + 1), ArrowUp: () => to(chosen - 1), PageDown: () => to(chosen + page), PageUp: () => to(chosen - page),
      Home: () => to(0), End: () => to(rows.length - 1), ArrowRight: () => step(part + 1), ArrowLeft: () => step(part - 1),
      "+": () => zoom(0.5, middle()), "=": () => zoom(0.5, middle()), "-": () => zoom(2, middle()), "0": whole,
      ",": () => sideways(-1), ".": () => sideways(1), Enter: list,
    };
    if (!actions[e.key]) return;
    e.preventDefault();
    actions[e.key]();
  }

  // at chooses the host and the part under the pointer.
  function at(e) {
    const box = canvas.getBoundingClientRect(), y = e.clientY - box.top, px = e.clientX - box.left;
    const i = Math.floor((y - axis + lanes.scrollTop) / laneHeight());
    if (y < axis || !rows[i]) return null;
    const slack = (to - from) / (width - names) * 2, time = timeAt(px);
    const hit = rows[i].parts.findLastIndex((p) => p.start - slack <= time && time <= p.end + slack);
    return { i, hit: px < names ? -1 : hit };
  }

  lanes.addEventListener("keydown", onKey);
  lanes.addEventListener("scroll", draw);
  canvas.addEventListener("click", (e) => {
    const found = at(e);
    if (found) { chosen = found.i; part = found.hit; show(true); }
  });
  canvas.addEventListener("dblclick", list);
  canvas.addEventListener("mousemove", (e) => {
    const found = at(e), p = found && rows[found.i].parts[found.hit];
    canvas.title = found ? rows[found.i].name + (p ? ": " + describe(p) : "") : "";
  });
  lanes.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, timeAt(e.clientX - canvas.getBoundingClientRect().left));
  }, { passive: false });
  detail.addEventListener("keydown", (e) => { if (e.key === "Escape") lanes.focus(); });
  for (const id of ["filter", "order"]) byId(id).addEventListener("change", choose);
  byId("search").addEventListener("input", choose);
  byId("dense").addEventListener("change", resize);
  byId("in").addEventListener("click", () => zoom(0.5, middle()));
  byId("out").addEventListener("click", () => zoom(2, middle()));
  byId("earlier").addEventListener("click", () => sideways(-1));
  byId("later").addEventListener("click", () => sideways(1));
  byId("whole").addEventListener("click", whole);
  window.addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColors(); draw(); });

  if (hosts.length === 0) return;
  lanes.hidden = false;
  byId("tools").hidden = false;
  readColors();
  choose();
})();
