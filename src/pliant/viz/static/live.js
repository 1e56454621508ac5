// What a live page has beyond viser: a model file can be dropped onto it, and rods have a colour at each vertex.
// `pliant.viz.scripted` puts this at the beginning of the page, before viser's own program.
"use strict";

// ------------------------------------------------------------ drop a model file
// A file goes to the input of the button "Open a model file", so that there is one way to load. Pages without that button leave drops alone.
(() => {
  const KINDS = [".yaml", ".yml", ".json"];
  const PATIENCE = 1200; // ms without a word from a drag, after which it is over
  let overlay = null;
  let timer = 0;

  const input = () => document.querySelector(`input[type="file"][accept="${KINDS.join(",")}"]`);
  const hasFiles = (event) => Array.from(event.dataTransfer?.types ?? []).includes("Files");

  function show(title, text, stays) {
    if (!overlay) {
      overlay = document.createElement("div");
      overlay.id = "pliant-drop";
      overlay.setAttribute("role", "status");
      overlay.style.cssText =
        "position:fixed;inset:0;z-index:100000;pointer-events:none;display:none;align-items:center;justify-content:center;" +
        "background:rgba(20,32,44,0.45);font-family:system-ui,sans-serif;color:#fff;text-align:center";
      const box = document.createElement("div");
      box.style.cssText =
        "padding:1.6em 2em;margin:1em;border:3px dashed #fff;border-radius:14px;background:rgba(40,96,136,0.92);max-width:26em;overflow-wrap:anywhere";
      const head = document.createElement("div");
      head.style.cssText = "font-size:1.35em;font-weight:600";
      const rest = document.createElement("div");
      rest.style.cssText = "margin-top:0.4em;opacity:0.9";
      box.append(head, rest);
      overlay.append(box);
      document.body.append(overlay);
    }
    const [head, rest] = overlay.firstChild.children;
    head.textContent = title;
    rest.textContent = text;
    overlay.style.display = "flex";
    clearTimeout(timer);
    timer = setTimeout(hide, stays ?? PATIENCE);
  }

  function hide() {
    clearTimeout(timer);
    if (overlay) overlay.style.display = "none";
  }

  function over(event) {
    const target = hasFiles(event) ? input() : null;
    if (!target) return;
    event.preventDefault(); // this place takes drops
    event.dataTransfer.dropEffect = "copy";
    show("Drop a model file", `${KINDS.join(", ")}: the robot takes the place of this one`);
  }

  function drop(event) {
    const target = hasFiles(event) ? input() : null;
    if (!target) return;
    event.preventDefault(); // or the browser would leave the page for the file
    hide();
    const { items, files } = event.dataTransfer;
    const folder = Array.from(items ?? []).some((item) => item.webkitGetAsEntry?.()?.isDirectory);
    if (folder || files.length !== 1) {
      show("Nothing was opened", `drop one model file, not ${folder ? "a folder" : `${files.length} files`}`, 4000);
      return;
    }
    let file = files[0];
    if (!KINDS.some((kind) => file.name.toLowerCase().endsWith(kind))) file = new File(["-"], file.name); // Python refuses it by its name: no need to send a film
    const carrier = new DataTransfer();
    carrier.items.add(file);
    target.files = carrier.files;
    target.dispatchEvent(new Event("change", { bubbles: true }));
  }

  addEventListener("dragenter", over, true);
  addEventListener("dragover", over, true);
  addEventListener("dragleave", (event) => event.relatedTarget === null && hide(), true);
  addEventListener("drop", drop, true);
})();

// ------------------------------------------------------------ colours of vertices
// viser's meshes have one colour each. `pliant.viz.painted` sends colours as further vertices, which no triangle uses: V vertices, then V points
// "origin + size · (red, green, blue)", then the origin, then origin + size · (1, 1, 1). Here they become colours, before each picture.
(() => {
  const seen = new WeakMap(); // geometry -> { index, count, painted, position, version }
  const linear = new Float32Array(1024); // of sRGB, as three.js computes with light
  for (let i = 0; i < 1024; i++) {
    const c = i / 1023;
    linear[i] = c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }

  function isPainted(index, position) {
    const n = position.count;
    if (n < 8 || n % 2) return false;
    let most = 0;
    for (const k of index.array) if (k > most) most = k;
    if (most + 1 !== n / 2 - 1) return false;
    const p = position.array;
    const [x, y, z] = [0, 1, 2].map((k) => p[3 * n - 3 + k] - p[3 * n - 6 + k]);
    return x > 0 && Math.abs(y - x) < 0.01 * x && Math.abs(z - x) < 0.01 * x;
  }

  function paint(mesh) {
    const { geometry, material } = mesh;
    const { position } = geometry.attributes;
    const { index } = geometry;
    if (!position || !index || position.itemSize !== 3) return;
    let state = seen.get(geometry);
    if (!state || state.index !== index || state.count !== position.count) {
      state = { index, count: position.count, painted: isPainted(index, position), position: null, version: -1 };
      seen.set(geometry, state);
    }
    if (!state.painted) return;
    if (!material.vertexColors) {
      material.vertexColors = true;
      material.needsUpdate = true;
    }
    if (state.position === position && state.version === position.version && geometry.attributes.color) return;
    state.position = position;
    state.version = position.version;
    const n = position.count;
    const p = position.array;
    let color = geometry.attributes.color;
    if (!color || color.count !== n) {
      color = new position.constructor(new Float32Array(3 * n), 3);
      geometry.setAttribute("color", color);
    }
    const half = 3 * (n / 2 - 1);
    const origin = p.subarray(3 * n - 6, 3 * n - 3);
    const scale = 1023 / (p[3 * n - 3] - origin[0]);
    for (let i = 0; i < half; i++) {
      const level = Math.round(scale * (p[half + i] - origin[i % 3]));
      color.array[i] = linear[Math.min(Math.max(level, 0), 1023)];
    }
    color.needsUpdate = true;
  }

  // three.js tells this object of each scene that it makes
  const hook = window.__THREE_DEVTOOLS__ ?? (window.__THREE_DEVTOOLS__ = new EventTarget());
  hook.addEventListener("observe", ({ detail }) => {
    if (!detail?.isScene) return;
    const before = detail.onBeforeRender;
    detail.onBeforeRender = function (...all) {
      before.apply(this, all);
      detail.traverseVisible((node) => node.isMesh && paint(node));
    };
  });
})();
