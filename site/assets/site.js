// The search and the menu. Pages are complete without this script.
"use strict";

const menu = document.getElementById("menu");
menu.addEventListener("click", () => {
  const open = document.getElementById("nav").classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});
const pages = document.getElementById("nav");
const current = pages.querySelector("a[aria-current]");
if (current) pages.scrollTop = current.offsetTop - pages.offsetTop - pages.clientHeight / 3;

// Links are rewritten to be relative, other attributes are not: addresses come from links.
const input = document.getElementById("search");
const list = document.getElementById("results");
let loading;

// load fetches the texts once, as a script: it works from the disk, too.
function load() {
  loading ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = document.getElementById("index").href;
    script.onload = resolve;
    document.head.append(script);
  });
  return loading;
}

// score ranks pages that have all words: in the title, then by the number of occurrences.
function score(page, words) {
  let total = 0;
  for (const word of words) {
    const inTitle = page.t.toLowerCase().includes(word);
    const count = page.low.split(word).length - 1;
    if (!inTitle && count === 0) return 0;
    total += (inTitle ? 100 : 0) + Math.min(count, 20);
  }
  return total;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) { list.hidden = true; return; }
  await load();
  for (const page of window.searchIndex) page.low ??= page.x.toLowerCase();
  const found = window.searchIndex.map((page) => [score(page, words), page]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
  list.replaceChildren(...found.map(([, page]) => {
    const at = Math.max(0, page.low.indexOf(words[0]) - 40);
    const a = document.createElement("a");
    a.href = new URL(page.u, document.getElementById("home").href).href;
    a.textContent = page.t;
    const part = document.createElement("small");
    part.textContent = "…" + page.x.slice(at, at + 110) + "…";
    a.append(part);
    const item = document.createElement("li");
    item.append(a);
    return item;
  }));
  if (found.length === 0) {
    const item = document.createElement("li");
    item.textContent = "No page has these words.";
    list.replaceChildren(item);
  }
  list.hidden = false;
}
input.addEventListener("input", search);
input.addEventListener("focus", load);
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); input.focus(); }
  if (e.key === "Escape") { list.hidden = true; }
  if ((e.key === "ArrowDown" || e.key === "ArrowUp") && !list.hidden) {
    const links = [...list.querySelectorAll("a")];
    const now = links.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1);
    (links[now] ?? input).focus();
    e.preventDefault();
  }
});
document.addEventListener("click", (e) => { if (!e.target.closest(".search")) list.hidden = true; });
