"use strict";
// Shows the details that stand in this file as data. Every text of the vault becomes a text node.
(() => {
  const find = (id) => document.getElementById(id);
  const firsts = JSON.parse(find("firsts").textContent);
  const blocks = { skill: [], fact: [], outcome: [] };
  for (const block of document.querySelectorAll("script[data-kind]")) blocks[block.dataset.kind].push(block);
  const opened = new Map();
  const parts = [...document.querySelectorAll("main > section")];
  const detail = find("detail");
  const title = document.title;
  let last = null;
  let follower = null; // the link on the page that led to a detail

  // ── data ──────────────────────────────────────────────────────────────────────────

  async function unpacked(kind, place) {
    const key = `${kind} ${place}`;
    if (!opened.has(key)) {
      const packed = Uint8Array.from(atob(blocks[kind][place].textContent.trim()), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      opened.set(key, JSON.parse(await new Response(stream).text()));
    }
    return opened.get(key);
  }

  async function record(kind, id) {
    const starts = firsts[kind] || [];
    let place = -1;
    while (place + 1 < starts.length && starts[place + 1] <= id) place += 1;
    if (place < 0) return null;
    const some = await unpacked(kind, place);
    return Object.hasOwn(some, id) ? some[id] : null;
  }

  // ── elements ──────────────────────────────────────────────────────────────────────

  function make(tag, text, attributes = {}) {
    const element = document.createElement(tag);
    if (text !== null && text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  const add = (parent, ...children) => { parent.append(...children); return parent; };
  const told = (text) => make("bdi", text);
  const place = (kind, id) => `#${kind}/${encodeURIComponent(id)}`;
  const link = (kind, id, text) => add(make("a", null, { href: place(kind, id) }), told(text || id));
  const marks = { success: ["✓", "good"], failure: ["✗", "bad"], neutral: ["○", "open"] };

  function texts(markdown) {
    const place = make("div", null, { class: "text" });
    let list = null;
    let prose = null;
    const end = () => { list = null; prose = null; };
    for (const line of markdown.split("\n")) {
      const heading = /^(#{1,6}) (.*)$/.exec(line);
      const item = /^\s*[-*] (.*)$/.exec(line);
      if (heading) {
        end();
        place.append(add(make(heading[1].length === 1 ? "h3" : "h4"), told(heading[2])));
      } else if (item) {
        if (!list) { prose = null; list = make("ul"); place.append(list); }
        list.append(add(make("li"), told(item[1])));
      } else if (!line.trim()) {
        end();
      } else if (prose && prose.tagName === "BDI") {
        prose.textContent += `\n${line}`;
      } else if (list) {
        list.lastChild.lastChild.textContent += ` ${line.trim()}`;
      } else {
        const slanted = /^\*([^*]+)\*$/.exec(line);
        prose = slanted ? make("em", slanted[1]) : told(line);
        place.append(add(make("p"), prose));
      }
    }
    return place;
  }

  function table(pairs) {
    const list = make("dl", null, { class: "facts" });
    for (const [name, value] of pairs) {
      if (value === undefined || value === null || value === "") continue;
      list.append(make("dt", name), add(make("dd"), typeof value === "object" ? value : told(String(value))));
    }
    return list;
  }

  function links(kind, ids) {
    const place = make("span");
    ids.forEach((id, n) => { if (n) place.append(", "); place.append(link(kind, id)); });
    return place;
  }

  // ── outcomes in a list ────────────────────────────────────────────────────────────

  const SOME = 24;

  async function outcomes(heading, [count, ids], note) {
    const place = make("section");
    place.append(make("h4", `${heading} (${count})`));
    if (note) place.append(make("p", note, { class: "soft small" }));
    if (!ids.length) return place;
    const list = make("ul", null, { class: "plain" });
    place.append(list);
    let shown = 0;
    const more = make("button", null, { type: "button" });
    async function next() {
      for (const id of ids.slice(shown, shown + SOME)) list.append(add(make("li"), await line(id)));
      shown = Math.min(ids.length, shown + SOME);
      more.textContent = `show more (${ids.length - shown} left)`;
      more.hidden = shown >= ids.length;
    }
    more.addEventListener("click", next);
    await next();
    place.append(more);
    if (count > ids.length) place.append(make("p", `${count - ids.length} more are in the vault`, { class: "soft small" }));
    return place;
  }

  async function line(id) {
    const one = await record("outcome", id);
    const row = make("span");
    if (!one) return add(row, `${id} (not told here)`);
    const [mark, kind] = marks[one.status];
    row.append(make("span", `${mark} ${one.status} `, { class: kind }), link("outcome", id, subject(one)));
    row.append(make("span", ` ${one.at.slice(0, 10)}`, { class: "soft small" }));
    return row;
  }

  const subject = (one) => [one.action || "a decision", one.target].filter(Boolean).join(" on ");

  // ── the graph from a skill or a fact back to its outcomes ─────────────────────────

  const SVG = "http://www.w3.org/2000/svg";
  const NODES = 16;

  function drawn(tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // What a record is made of: [kind, id] one step back; an evaluation is of the outcome of its id.
  async function behind(kind, id) {
    const one = await record(kind, id);
    const ends = (one && one.origins ? one.origins : []).filter(([type]) => type !== "contradicted");
    return ends
      .map(([, of, name]) => [of === "evaluation" ? "outcome" : of, name])
      .filter(([of]) => of in blocks);
  }

  async function graph(kind, id, label) {
    const columns = [[{ kind, id, label, from: [] }], [], []];
    const placed = new Map();
    let left = 0;
    async function put(column, parent, of, name) {
      const key = `${of} ${name}`;
      if (placed.has(key)) { placed.get(key).from.push(parent); return; }
      if (columns[column].length >= NODES) { left += 1; return; }
      const one = await record(of, name);
      if (!one) { left += 1; return; }
      const text = of === "outcome" ? `${one.at.slice(0, 10)} ${subject(one)}` : one.title || one.text;
      const node = { kind: of, id: name, label: text, from: [parent] };
      if (of === "outcome") node.status = one.status;
      placed.set(key, node);
      columns[column].push(node);
      if (of !== "outcome") for (const [next, to] of await behind(of, name)) {
        if (next === "outcome") await put(2, node, next, to);
      }
    }
    for (const [of, name] of await behind(kind, id)) await put(of === "outcome" ? 2 : 1, columns[0][0], of, name);
    const used = columns.filter((column) => column.length);
    if (used.length < 2) return null;
    const wide = Math.max(300, Math.min(1080, detail.clientWidth - 32 || 700));
    const gap = wide < 600 ? 22 : 60;
    const width = (wide - gap * (used.length - 1)) / used.length;
    const rows = Math.max(...used.map((column) => column.length));
    const high = rows * 34;
    const svg = drawn("svg", { viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": "From here back to the outcomes" });
    used.forEach((column, x) => column.forEach((node, y) => {
      node.x = x * (width + gap);
      node.y = ((y + 0.5) * high) / column.length;
    }));
    for (const column of used) for (const node of column) for (const parent of node.from) {
      const [x1, y1, x2, y2] = [parent.x + width, parent.y, node.x, node.y];
      svg.append(drawn("path", { d: `M${x1} ${y1} C${x1 + gap / 2} ${y1} ${x2 - gap / 2} ${y2} ${x2} ${y2}` }));
    }
    for (const column of used) for (const node of column) {
      const [mark, look] = node.status ? marks[node.status] : ["", ""];
      const room = Math.floor((width - 16 - (mark ? 14 : 0)) / 7.2);
      const letters = [...node.label];
      const short = letters.length > room ? `${letters.slice(0, Math.max(1, room - 1)).join("")}…` : node.label;
      // What is read aloud begins with what is seen, so that it can be asked for by that.
      const name = `${mark && `${mark} `}${short}: ${node.kind}${node.status ? `, ${node.status}` : ""}, ${node.label}`;
      const knot = drawn("a", { href: place(node.kind, node.id), "aria-label": name });
      knot.append(drawn("rect", { x: node.x, y: node.y - 13, width, height: 26, rx: 5 }));
      const text = drawn("text", { x: node.x + 8, y: node.y + 4.5 });
      if (mark) text.append(drawn("tspan", { class: look }, `${mark} `));
      text.append(drawn("tspan", {}, short));
      knot.append(text);
      svg.append(knot);
    }
    const figure = make("div", null, { class: "graph" });
    figure.append(svg);
    if (left) figure.append(make("p", `and ${left} more, in the lists below`, { class: "soft small" }));
    return figure;
  }

  // ── one record ────────────────────────────────────────────────────────────────────

  async function skill(id, one, place) {
    place.append(table([
      ["skill", id], ["kind", one.kind], ["domain", one.domain], ["status", one.status],
      ["trust", one.trust === "local" ? "" : one.trust], ["file", make("code", one.path)],
    ]));
    const picture = await graph("skill", id, one.title);
    if (picture) place.append(make("h3", "Where it comes from"), picture);
    place.append(make("h3", "What it says"), texts(one.text));
    if (one.digest) place.append(editor(id, one));
    place.append(make("h3", "Evidence"));
    place.append(await outcomes("For it", one.for));
    place.append(await outcomes("Against it", one.against));
    if (one.otherwise[0]) place.append(await outcomes(
      "Of the same subject, ended otherwise", one.otherwise,
      `\`skillvault why ${id}\` tells which of them share its causes.`));
    if (one.applied[0]) place.append(await outcomes("Decisions that applied it", one.applied));
    place.append(make("h3", "History"));
    const list = make("ul", null, { class: "plain" });
    for (const [commit, date, step, subject_] of one.history) {
      const row = add(make("li"), make("code", commit), ` ${date.slice(0, 10)} `, told(subject_));
      if (!step) row.append(make("span", " (by a person)", { class: "soft" }));
      list.append(row);
    }
    place.append(list);
  }

  function editor(id, one) {
    const field = make("textarea", null, { rows: "16" });
    field.defaultValue = one.text;
    const form = make("div", null, { "data-name": id, "data-digest": one.digest });
    add(form, add(make("label", "Its text"), make("br"), field), make("br"),
      make("button", "commit this text", { type: "button", "data-act": "edit" }), " ",
      make("span", null, { role: "status", class: "small" }));
    return add(make("details"), make("summary", "Edit the text"), form);
  }

  async function fact(id, one, place) {
    place.append(texts(one.text));
    place.append(table([["fact", id], ["domain", one.domain], ["importance", one.importance],
      ["trust", one.trust === "local" ? "" : one.trust], ["file", make("code", one.path)]]));
    const picture = await graph("fact", id, one.text);
    if (picture) place.append(make("h3", "Where it comes from"), picture);
    const ends = one.origins.filter(([, kind]) => kind === "evaluation");
    const of = (wanted) => {
      const ids = ends.filter(([type]) => (type === "contradicted") === wanted).map(([, , name]) => name);
      return [ids.length, ids];
    };
    place.append(make("h3", "Evidence"));
    place.append(await outcomes("For it", of(false)), await outcomes("Against it", of(true)));
  }

  const signed = (value) => (value > 0 ? "+" : "") + value;

  async function outcome(id, one, place) {
    const [mark, kind] = marks[one.status];
    const score = one.score === undefined ? "" : `, ${signed(+(100 * one.score).toFixed(2))} %`;
    const amount = one.amount === undefined ? "" : `, ${signed(one.amount)} ${one.unit || ""}`;
    place.append(make("p", `${mark} ${one.status}${score}${amount}`, { class: kind }));
    place.append(table([
      ["outcome", id], ["ended", `${one.at.slice(0, 16).replace("T", " ")} UTC`], ["domain", one.domain],
      ["agent", one.agent], ["session", one.session], ["seen by", one.observer], ["trust", one.trust === "local" ? "" : one.trust],
      ["confidence", one.confidence], ["skills applied", one.applied ? links("skill", one.applied) : ""],
      ["file", make("code", `outcomes/${one.domain}/${id.slice(0, 4)}/${id.slice(4, 6)}/${id.slice(6, 8)}/${id}.yaml`)],
    ]));
    const said = [["What was asked", one.task], ["Why it was decided", one.reasoning], ["Its report", one.report],
      ["What the agent claimed", one.claim], ["How it ended", one.summary], ["Its answer", one.answer], ["Evidence", one.evidence],
      ["The agent's lesson", one.lesson], ["What the judge saw", one.insight], ["What would be better", one.better]];
    for (const [heading, text] of said) {
      if (text) place.append(make("h3", heading), add(make("blockquote"), told(text)));
    }
    if (one.quality !== undefined) {
      const right = { true: ", and was right", false: ", and was wrong" }[one.right] || "";
      place.append(make("p", `The judge (${one.judge}) found it a ${one.good ? "good" : "bad"} decision (${one.quality.toFixed(2)})${right}.`, { class: "soft" }));
    }
    if (one.context) place.append(make("h3", "What was observed"), table(one.context));
  }

  const kinds = { skill, fact, outcome };

  // ── going there and back ──────────────────────────────────────────────────────────

  function asked() {
    const [kind, ...rest] = location.hash.slice(1).split("/");
    try {
      return [kind, decodeURIComponent(rest.join("/"))];
    } catch {
      return [kind, rest.join("/")];
    }
  }

  async function show() {
    const [kind, id] = asked();
    if (!last) follower = document.activeElement;
    const isDetail = Object.hasOwn(kinds, kind) && id;
    const from = last;
    last = isDetail ? location.hash : null;
    if (!isDetail) {
      detail.hidden = true;
      for (const part of parts) part.hidden = false;
      document.title = title;
      if (from) {
        const links = [follower, ...document.querySelectorAll("main a")];
        const back = links.find((one) => one && one.getAttribute("href") === from && one.offsetParent);
        if (back) { back.focus({ preventScroll: true }); back.scrollIntoView({ block: "center" }); }
      }
      if (find(kind)) find(kind).scrollIntoView();
      return;
    }
    const one = await record(kind, id);
    if (location.hash !== last) return; // gone on meanwhile
    const name = !one ? id : kind === "outcome" ? subject(one) : one.title || id;
    const heading = add(make("h2", null, { tabindex: "-1" }), make("span", `${kind}: `, { class: "soft" }), told(name));
    const back = make("button", "← back", { type: "button" });
    back.addEventListener("click", () => history.back());
    const all = make("a", "the whole page", { href: "#week" });
    detail.replaceChildren(add(make("p"), back, "  ", all), heading);
    for (const part of parts) part.hidden = true;
    detail.hidden = false;
    document.title = `${name} – ${title}`;
    if (one) await kinds[kind](id, one, detail);
    else detail.append(make("p", "It is not told on this page: it is gone, of another domain, or removed."));
    heading.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  if (location.hash.startsWith("#token=")) {
    fetch("session", { method: "POST", body: location.hash.slice(7) });
    history.replaceState(null, "", location.pathname);
  }
  window.addEventListener("hashchange", show);
  if (location.hash) show();

  // ── lessons that have all of some words ───────────────────────────────────────────

  const HITS = 30;
  let lessons = null;

  // Each lesson as [kind, id, name, text in lower case].
  async function allLessons() {
    const rows = [];
    for (const kind of ["skill", "fact"]) for (let n = 0; n < blocks[kind].length; n += 1) {
      for (const [id, one] of Object.entries(await unpacked(kind, n))) {
        rows.push([kind, id, one.title || one.text, `${id} ${one.title || ""} ${one.domain} ${one.text}`.toLowerCase()]);
      }
    }
    return rows;
  }

  if (find("find")) {
    find("find").hidden = false;
    find("filter").addEventListener("input", async () => {
      lessons = lessons || await allLessons();
      const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      const hits = lessons.filter(([, , , text]) => words.every((word) => text.includes(word)));
      find("hits").replaceChildren(...hits.slice(0, HITS).map(([kind, id, name]) =>
        add(make("li"), link(kind, id, name), make("span", ` ${kind}`, { class: "soft small" }))));
      find("hits").hidden = !words.length;
      find("all").hidden = words.length > 0;
      find("shown").textContent = words.length ? `${hits.length} of ${lessons.length}` : "";
    });
  }

  // ── decisions, which the terminal confirms ────────────────────────────────────────

  document.addEventListener("click", async ({ target: button }) => {
    if (!button.dataset.act) return;
    const { name, digest } = button.parentElement.dataset;
    const said = button.parentElement.querySelector("[role=status]");
    said.textContent = "confirm it in the terminal that serves this page";
    const field = button.parentElement.querySelector("textarea");
    const body = JSON.stringify({ act: button.dataset.act, name, digest, text: field.value });
    try {
      const reply = await fetch("decide", { method: "POST", body });
      said.textContent = await reply.text();
      if (reply.ok) field.defaultValue = field.value;
    } catch {
      said.textContent = "the page is no longer served";
    }
  });

  // ── a page that is served looks whether the branch has moved ──────────────────────

  const isTyped = () => [...document.querySelectorAll("textarea")].some((one) => one.value !== one.defaultValue);
  const head = document.currentScript.dataset.head;
  if (head !== undefined) {
    setInterval(async () => {
      if (document.hidden || isTyped()) return; // what is typed would be lost
      try {
        const now = await (await fetch("head")).text();
        if (now !== head) location.reload();
      } catch {
        document.title = `(no longer served) ${title}`;
      }
    }, 2000);
  }
})();
