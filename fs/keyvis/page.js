// Draws the map of the data in the page. Ranges of keys are rows, times are columns.
'use strict';
(() => {
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), scan = data.scan, metric = scan.metrics[0];
const matrix = metric.matrix.rows.map(row => row.cols);
const rows = matrix.length, columns = matrix[0].length, step = scan.stepSeconds * 1000, start = Date.parse(scan.startTime);
const canvas = $('map'), frame = $('frame'), tip = $('tip'), paint = canvas.getContext('2d');
const depths = Math.max(...scan.prefixNodes.map(node => node.depth));
let view = {x: 0, y: 0, w: columns, h: rows}; // the cells that are shown
let plot = {x: 0, y: 0, w: 0, h: 0}, bars = {count: 0, w: 0};
let at = null; // the cell that is pointed to
const clamp = (value, least, most) => Math.max(least, Math.min(value, most));

// ---- Words
const clock = (time, date) => new Date(time).toISOString().replace('T', ' ').slice(date ? 0 : 11, 16);
const level = value => { let l = 0; while (l < data.bounds.length && value >= data.bounds[l]) l++; return value > 0 ? l : 0; };
const short = value => { let u = 0; while (value >= 999.5) { value /= 1000; u++; } return (u && value < 9.95 ? value.toFixed(1) : value.toFixed(0)) + ['', 'k', 'M', 'G', 'T', 'P', 'E'][u]; };
const add = (parent, tag, text) => { const element = parent.appendChild(document.createElement(tag)); if (text) element.textContent = text; return element; };

function words() {
  document.title = $('title').textContent = data.title;
  $('when').textContent = data.when;
  $('what').textContent = metric.info.message;
  $('note').textContent = data.note;
  canvas.setAttribute('aria-label', data.title);
  for (const message of scan.diagnosticMessages) {
    const item = add($('diagnosis'), 'li'), text = message.info.message, cut = text.indexOf(': ');
    item.className = message.severity.toLowerCase();
    if (cut > 0 && message.metricSpecific) add(item, 'strong', text.slice(0, cut + 1));
    item.append(cut > 0 && message.metricSpecific ? text.slice(cut + 1) : text);
  }
  for (const hot of data.hot) {
    const button = add(add($('hot'), 'li'), 'button');
    button.type = 'button';
    button.title = hot.path;
    add(button, 'b', hot.share ? hot.share + ' %' : short(hot.total));
    add(button, 'span', hot.name);
    button.onclick = () => { show(hot); copy(hot.path); };
  }
  $('side').hidden = data.hot.length === 0;
}

function legend() {
  add($('legend'), 'b', metric.unit.message);
  [0, ...data.bounds].forEach((bound, index, all) => {
    if (bound === all[index + 1]) return; // no number has this colour
    const part = add($('legend'), 'span');
    add(part, 'i').style.background = data.colors[index];
    part.append(short(bound) + (index === all.length - 1 ? '+' : ''));
  });
  $('legend').setAttribute('aria-label', metric.unit.message + ', from 0, dark, to ' + data.bounds[data.bounds.length - 1] + ' and more, bright');
}

// ---- Drawing
const totals = matrix.map(row => row.reduce((sum, value) => sum + value, 0));
const levels = matrix.map(row => Uint8Array.from(row, level));
const pixels = new Uint32Array(data.colors.map(color => { // as bytes in memory: red, green, blue, opaque
  const rgb = parseInt(color.slice(1), 16);
  return new Uint32Array(new Uint8Array([rgb >> 16, rgb >> 8 & 255, rgb & 255, 255]).buffer)[0];
}));

// A hot row is three pixels high at least, where the map has room for less.
function widen(to, width, height) {
  for (const hot of data.hot) {
    const y = Math.floor((hot.first - view.y) * height / view.h);
    if (hot.first !== hot.last || height / view.h >= 3 || y < 1 || y + 2 > height) continue;
    to.copyWithin((y - 1) * width, y * width, (y + 1) * width);
    to.copyWithin((y + 1) * width, y * width, (y + 1) * width);
  }
}

// The hottest of the cells that a pixel stands for is drawn, so that no hot row is lost.
function cells(scale) {
  const width = Math.round(plot.w * scale), height = Math.round(plot.h * scale);
  const image = paint.createImageData(width, height), to = new Uint32Array(image.data.buffer);
  const column = x => Math.min(columns - 1, Math.floor(view.x + x * view.w / width));
  let before = '';
  for (let y = 0; y < height; y++) {
    const r0 = Math.min(rows - 1, Math.floor(view.y + y * view.h / height));
    const r1 = Math.max(r0 + 1, Math.min(rows, Math.floor(view.y + (y + 1) * view.h / height)));
    if (before === r0 + ' ' + r1) { to.copyWithin(y * width, (y - 1) * width, y * width); continue; }
    before = r0 + ' ' + r1;
    for (let x = 0; x < width; x++) {
      const c0 = column(x), c1 = Math.max(c0 + 1, column(x + 1));
      let most = 0;
      for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) if (levels[r][c] > most) most = levels[r][c];
      to[y * width + x] = pixels[most];
    }
  }
  widen(to, width, height);
  paint.putImageData(image, Math.round(plot.x * scale), Math.round(plot.y * scale));
}

const placeX = column => plot.x + (column - view.x) * plot.w / view.w;
const placeY = row => plot.y + (row - view.y) * plot.h / view.h;

// A text without its middle, if it is too wide.
function fit(text, width) {
  if (paint.measureText(text).width <= width) return text;
  for (let keep = text.length - 2; keep > 1; keep--) {
    const head = Math.floor(keep / 3), short = text.slice(0, head) + '…' + text.slice(text.length - keep + head);
    if (paint.measureText(short).width <= width) return short;
  }
  return '';
}

function tree(style) {
  paint.font = '11px ui-monospace, monospace';
  for (const node of scan.prefixNodes) {
    const y0 = clamp(placeY(node.startIndex), plot.y, plot.y + plot.h), y1 = clamp(placeY(node.endIndex + 1), plot.y, plot.y + plot.h);
    if (node.depth === 0 || node.depth > bars.count || y1 - y0 < 0.5) continue;
    const x = (node.depth - 1) * bars.w;
    paint.fillStyle = style.getPropertyValue('--bar');
    paint.fillRect(x, y0, bars.w - 2, Math.max(1, y1 - y0 - 1));
    paint.fillStyle = style.getPropertyValue('--text');
    if (y1 - y0 >= 11) paint.fillText(fit(node.word, bars.w - 8), x + 3, (y0 + y1) / 2);
  }
  paint.textAlign = 'right';
  paint.fillStyle = style.getPropertyValue('--dim');
  const every = Math.max(1, Math.ceil(13 * view.h / plot.h));
  for (let from = Math.floor(view.y / every) * every, last = -99; from < view.y + view.h; from += every) {
    let r = from; // the hottest of those that have one label together
    for (let other = from; other < Math.min(rows, from + every); other++) if (totals[other] > totals[r]) r = other;
    const y = (placeY(r) + placeY(r + 1)) / 2;
    if (y < plot.y + 4 || y > plot.y + plot.h - 4 || y < last + 11) continue;
    last = y;
    paint.fillText(fit(data.labels[r], plot.x - bars.count * bars.w - 12), plot.x - 6, y);
  }
  paint.textAlign = 'left';
}

function axis(style) {
  const minutes = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 5760, 10080].map(m => m * 60000);
  const every = minutes.find(m => m / step * plot.w / view.w >= 60) || minutes[minutes.length - 1];
  paint.fillStyle = style.getPropertyValue('--dim');
  for (let time = Math.ceil((start + view.x * step) / every) * every; time < start + (view.x + view.w) * step; time += every) {
    const x = placeX((time - start) / step);
    paint.fillRect(x, plot.y + plot.h + 1, 1, 4);
    if (x < plot.x + plot.w - 34) paint.fillText(time % 86400000 ? clock(time) : clock(time, true).slice(5, 10), x, plot.y + plot.h + 14);
  }
  paint.fillText('UTC', plot.x + plot.w + 5, plot.y + plot.h + 14);
}

function marks(style, height) {
  paint.strokeStyle = style.getPropertyValue('--line');
  paint.strokeRect(plot.x - 0.5, plot.y - 0.5, plot.w + 1, plot.h + 1);
  paint.fillStyle = style.getPropertyValue('--text');
  for (const hot of data.hot) { // a bar at the right edge
    const y0 = clamp(placeY(hot.first), plot.y, plot.y + plot.h), y1 = clamp(placeY(hot.last + 1), plot.y, plot.y + plot.h);
    if (y1 > y0) paint.fillRect(plot.x + plot.w + 3, y0, 3, Math.max(2, y1 - y0));
    if (y1 > y0 && hot.share >= 5) paint.fillText(hot.share + ' %', plot.x + plot.w + 9, clamp((y0 + y1) / 2, 6, height - 30));
  }
  if (!at) return;
  paint.strokeStyle = '#ffffff';
  paint.lineWidth = 1.5;
  paint.strokeRect(placeX(at.c) - 1, placeY(at.r) - 1, plot.w / view.w + 2, plot.h / view.h + 2);
  paint.lineWidth = 1;
}

function draw() {
  const scale = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
  const width = frame.clientWidth, height = frame.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  bars.count = Math.min(depths, width > 800 ? 4 : width > 560 ? 2 : 0);
  bars.w = bars.count > 2 ? 62 : 80;
  const left = bars.count * bars.w + (width > 560 ? 160 : 100);
  plot = {x: left, y: 1, w: Math.max(50, width - left - 44), h: height - 24};
  paint.setTransform(1, 0, 0, 1, 0, 0);
  paint.clearRect(0, 0, canvas.width, canvas.height);
  cells(scale);
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  paint.textBaseline = 'middle';
  tree(style);
  axis(style);
  marks(style, height);
}

// ---- Pointing
function point(r, c, x, y) {
  at = {r: clamp(r, 0, rows - 1), c: clamp(c, 0, columns - 1)};
  const from = start + at.c * step, value = matrix[at.r][at.c];
  tip.textContent = data.names[at.r] + '\n' + clock(from, true) + ' to ' + clock(from + step) + ' UTC\n' + value.toLocaleString('en') + ' ' + metric.unit.message;
  draw();
  x = x ?? placeX(at.c + 1); y = y ?? placeY(at.r + 1);
  tip.style.left = (x + 14 + tip.offsetWidth > frame.clientWidth ? Math.max(0, x - 14 - tip.offsetWidth) : x + 14) + 'px';
  tip.style.top = (y + 14 + tip.offsetHeight > frame.clientHeight ? Math.max(0, y - 14 - tip.offsetHeight) : y + 14) + 'px';
}

function away() { at = null; tip.textContent = ''; draw(); }

async function copy(path) {
  try {
    await navigator.clipboard.writeText(path);
    $('copied').textContent = 'Copied ' + path;
  } catch (error) {
    $('copied').textContent = 'The browser refuses to copy: ' + path;
  }
}

// ---- Zoom: w and h keep at least four cells, and the view stays within the map
function look(x, y, w, h) {
  w = clamp(w, Math.min(4, columns), columns);
  h = clamp(h, Math.min(4, rows), rows);
  view = {x: clamp(x, 0, columns - w), y: clamp(y, 0, rows - h), w, h};
  draw();
}

function zoom(factor, x = view.x + view.w / 2, y = view.y + view.h / 2) {
  const w = clamp(view.w * factor, Math.min(4, columns), columns), h = clamp(view.h * factor, Math.min(4, rows), rows);
  look(x - (x - view.x) * w / view.w, y - (y - view.y) * h / view.h, w, h);
}

const reset = () => look(0, 0, columns, rows);
const zoomed = () => view.w < columns || view.h < rows;

function show(hot) {
  const row = hot.first, h = Math.max(hot.last - hot.first + 1, rows / 10);
  look(0, (hot.first + hot.last + 1 - h) / 2, columns, h);
  point(row, matrix[row].indexOf(Math.max(...matrix[row])));
}

// Keeps the cell that is pointed to in view.
function follow() {
  look(at.c < view.x ? at.c : Math.max(view.x, at.c + 1 - view.w), at.r < view.y ? at.r : Math.max(view.y, at.r + 1 - view.h), view.w, view.h);
}

// ---- Events
const place = event => {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  return {x, y, c: view.x + (x - plot.x) * view.w / plot.w, r: view.y + (y - plot.y) * view.h / plot.h,
    inside: x >= plot.x && x < plot.x + plot.w && y >= plot.y && y < plot.y + plot.h};
};
const node = p => scan.prefixNodes.findIndex(n => n.depth === Math.floor(p.x / bars.w) + 1 && n.startIndex <= p.r && p.r < n.endIndex + 1);
let drag = null;

function press(event) { if (event.button === 0) drag = {...place(event), view: {...view}, moved: false}; canvas.setPointerCapture(event.pointerId); }

function move(event) {
  const p = place(event);
  if (drag && zoomed() && (drag.moved || Math.hypot(p.x - drag.x, p.y - drag.y) > 4)) {
    drag.moved = true;
    return look(drag.view.x - (p.x - drag.x) * view.w / plot.w, drag.view.y - (p.y - drag.y) * view.h / plot.h, view.w, view.h);
  }
  if (p.inside) point(Math.floor(p.r), Math.floor(p.c), p.x, p.y);
  else if (at) away();
}

function release(event) {
  const p = place(event), clicked = drag && !drag.moved;
  drag = null;
  if (!clicked) return;
  if (p.inside) copy(data.paths[clamp(Math.floor(p.r), 0, rows - 1)]);
  else if (p.x < bars.count * bars.w && node(p) >= 0) copy(data.nodePaths[node(p)]);
}

function wheel(event) {
  const p = place(event);
  if (!p.inside || (event.deltaY > 0 && !zoomed())) return;
  event.preventDefault();
  zoom(event.deltaY < 0 ? 1 / 1.3 : 1.3, p.c, p.r);
}

function key(event) {
  const by = event.shiftKey ? 10 : 1, steps = {ArrowUp: [-by, 0], ArrowDown: [by, 0], ArrowLeft: [0, -by], ArrowRight: [0, by]}[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (steps) {
    if (at) point(at.r + steps[0], at.c + steps[1]); else point(Math.ceil(view.y), Math.ceil(view.x));
    follow();
    point(at.r, at.c);
  } else if (event.key === '+' || event.key === '=') zoom(1 / 1.5, at ? at.c + 0.5 : undefined, at ? at.r + 0.5 : undefined);
  else if (event.key === '-') zoom(1.5, at ? at.c + 0.5 : undefined, at ? at.r + 0.5 : undefined);
  else if (event.key === '0' || event.key === 'Escape') reset();
  else if (event.key === 'Enter' && at) copy(data.paths[at.r]);
  else return;
  event.preventDefault();
}

words();
if (columns === 0 || !metric.hasNonzeroData) { $('main').hidden = true; return; }
legend();
canvas.addEventListener('pointerdown', press);
canvas.addEventListener('pointermove', move);
canvas.addEventListener('pointerup', release);
canvas.addEventListener('pointercancel', () => { drag = null; });
canvas.addEventListener('pointerleave', () => { if (at && !drag) away(); });
canvas.addEventListener('wheel', wheel, {passive: false});
canvas.addEventListener('keydown', key);
$('in').onclick = () => zoom(1 / 1.5);
$('out').onclick = () => zoom(1.5);
$('reset').onclick = reset;
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
new ResizeObserver(draw).observe(frame);
draw();
})();
