// The player of pliant's offline pages: one page, one robot, no network.
// The page holds a header (JSON) and one block of arrays (gzip, base64); see ../html.py for what is in them.
// Every vertex is fixed to one of N poses: the world, bodies, and stations along rods. A frame is a list of poses.
import {
  BufferAttribute, BufferGeometry, CanvasTexture, Color, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide,
  FrontSide, Group, HemisphereLight, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, NeutralToneMapping, PCFShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion, Scene,
  ShaderMaterial, ShadowMaterial, SphereGeometry, Sprite, SpriteMaterial, SRGBColorSpace, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const byId = (id) => document.getElementById(id);
const rgb = (c) => new Color().setRGB(c[0] / 255, c[1] / 255, c[2] / 255, SRGBColorSpace);

// ---------------------------------------------------------------- data

const KINDS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array };

async function load() {
  const header = JSON.parse(byId("pliant-header").textContent);
  const text = atob(byId("pliant-data").textContent.trim());
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old for this page (it needs DecompressionStream, 2023).");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const block = await new Response(stream).arrayBuffer();
  const arrays = {};
  for (const [name, [kind, offset, length, rows]] of Object.entries(header.arrays)) {
    const size = KINDS[kind].BYTES_PER_ELEMENT * length;
    let raw = new Uint8Array(block.slice(offset, offset + size));
    if (rows) raw = undelta(raw, KINDS[kind].BYTES_PER_ELEMENT, rows);
    arrays[name] = new KINDS[kind](raw.buffer);
  }
  return { header, arrays };
}

// undo second differences between rows, kept column by column with low and high bytes apart
function undelta(raw, width, rows) {
  const count = raw.length / width, columns = count / rows;
  const out = width === 2 ? new Uint16Array(count) : new Uint8Array(count);
  for (let c = 0; c < columns; c++)
    for (let r = 0, step = 0, value = 0; r < rows; r++) {
      const i = c * rows + r;
      step += width === 2 ? raw[i] | (raw[count + i] << 8) : raw[i];
      value += step;
      out[r * columns + c] = value; // wraps around, as the differences did
    }
  return new Uint8Array(out.buffer);
}

// ---------------------------------------------------------------- poses

class Motion {
  constructor(header, arrays) {
    Object.assign(this, { t: arrays.t, n: header.poses, low: header.low, step: header.step });
    this.position = arrays.position;
    this.turn = arrays.turn;
    this.frames = this.t.length;
    this.p = new Float32Array(3 * this.n); // positions
    this.r = new Float32Array(9 * this.n); // rotations, row by row
    this.q = new Float32Array(4 * this.n); // quaternions x, y, z, w
  }

  get duration() { return this.t[this.frames - 1] - this.t[0]; }

  locate(time) {
    const last = this.frames - 1;
    if (last === 0) return [0, 0, 0];
    const s = Math.min(Math.max((time / this.duration) * last, 0), last);
    const i = Math.min(Math.floor(s), last - 1);
    return [i, i + 1, s - i];
  }

  place(k, frame, out) {
    const i = 3 * (frame * this.n + k);
    for (let c = 0; c < 3; c++) out[c] = this.low[c] + this.step[c] * this.position[i + c];
    return out;
  }

  at(time) {
    const [i, j, w] = this.locate(time);
    const a3 = 3 * i * this.n, b3 = 3 * j * this.n, a4 = 4 * i * this.n, b4 = 4 * j * this.n;
    const { p, q, r, position, turn, low, step } = this;
    for (let k = 0; k < 3 * this.n; k++) p[k] = low[k % 3] + step[k % 3] * ((1 - w) * position[a3 + k] + w * position[b3 + k]);
    for (let k = 0; k < this.n; k++) {
      let x = [0, 0, 0, 0], length = 0;
      for (let c = 0; c < 4; c++) {
        x[c] = (1 - w) * turn[a4 + 4 * k + c] + w * turn[b4 + 4 * k + c];
        length += x[c] * x[c];
      }
      length = Math.sqrt(length) || 1;
      const qx = x[0] / length, qy = x[1] / length, qz = x[2] / length, qw = x[3] / length;
      q.set([qx, qy, qz, qw], 4 * k);
      r.set([
        1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qz * qw), 2 * (qx * qz + qy * qw),
        2 * (qx * qy + qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qx * qw),
        2 * (qx * qz - qy * qw), 2 * (qy * qz + qx * qw), 1 - 2 * (qx * qx + qy * qy),
      ], 9 * k);
    }
    return [i, j, w];
  }

  point(k, x, y, z, out, o) {
    const { p, r } = this;
    for (let c = 0; c < 3; c++) out[o + c] = p[3 * k + c] + r[9 * k + 3 * c] * x + r[9 * k + 3 * c + 1] * y + r[9 * k + 3 * c + 2] * z;
  }
}

// ---------------------------------------------------------------- surfaces

function surface(count, faces) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * count), 3));
  geometry.setIndex(new BufferAttribute(faces, 1));
  return geometry;
}

function refresh(geometry) {
  geometry.attributes.position.needsUpdate = true;
  geometry.computeVertexNormals();
}

// a round tube along a polyline of m points
class Pipe {
  constructor(m, radius, material, sides = 8) {
    Object.assign(this, { m, radius, sides });
    const faces = [];
    for (let i = 0; i + 1 < m; i++)
      for (let k = 0; k < sides; k++) {
        const a = i * sides + k, b = i * sides + ((k + 1) % sides);
        faces.push(a, b, a + sides, b, b + sides, a + sides);
      }
    this.geometry = surface(m * sides, new Uint32Array(faces));
    this.mesh = new Mesh(this.geometry, material);
    this.mesh.frustumCulled = false;
    this.points = new Float32Array(3 * m);
  }

  draw() {
    const { m, sides, points, radius } = this;
    const out = this.geometry.attributes.position.array;
    const along = new Vector3(), last = new Vector3(), u = new Vector3(), v = new Vector3();
    for (let i = 0; i < m; i++) {
      const a = 3 * Math.max(i - 1, 0), b = 3 * Math.min(i + 1, m - 1);
      along.set(points[b] - points[a], points[b + 1] - points[a + 1], points[b + 2] - points[a + 2]);
      if (along.lengthSq() < 1e-24) along.copy(last);
      if (along.lengthSq() < 1e-24) along.set(1, 0, 0);
      along.normalize();
      if (i === 0) u.set(Math.abs(along.x) < 0.8 ? 1 : 0, Math.abs(along.x) < 0.8 ? 0 : 1, 0);
      u.addScaledVector(along, -u.dot(along));
      if (u.lengthSq() < 1e-12) u.set(along.y, along.z, along.x).addScaledVector(along, -along.dot(u));
      u.normalize();
      v.crossVectors(along, u);
      last.copy(along);
      for (let k = 0; k < sides; k++) {
        const angle = (2 * Math.PI * k) / sides, c = radius * Math.cos(angle), s = radius * Math.sin(angle);
        const o = 3 * (i * sides + k);
        out[o] = points[3 * i] + c * u.x + s * v.x;
        out[o + 1] = points[3 * i + 1] + c * u.y + s * v.y;
        out[o + 2] = points[3 * i + 2] + c * u.z + s * v.z;
      }
    }
    refresh(this.geometry);
  }
}

class ArrowMesh {
  constructor(color, width) {
    const material = new MeshStandardMaterial({ color, roughness: 0.6 });
    this.shaft = new Mesh(new CylinderGeometry(width, width, 1, 12).translate(0, 0.5, 0), material);
    this.head = new Mesh(new ConeGeometry(2.6 * width, 6 * width, 16).translate(0, -3 * width, 0), material);
    this.group = new Group().add(this.shaft, this.head);
    this.group.traverse((o) => (o.castShadow = true));
    this.width = width;
  }

  set(x, y, z, vx, vy, vz) {
    const length = Math.hypot(vx, vy, vz);
    this.group.visible = length > 2 * this.width;
    if (!this.group.visible) return;
    this.group.position.set(x, y, z);
    this.group.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), new Vector3(vx, vy, vz).divideScalar(length));
    this.head.position.y = length;
    const head = Math.min(1, length / (9 * this.width));
    this.head.scale.setScalar(head);
    this.shaft.scale.y = Math.max(length - 6 * this.width * head, 1e-9);
  }
}

// ---------------------------------------------------------------- the page

class Player {
  constructor({ header, arrays }) {
    Object.assign(this, { header, arrays });
    this.motion = new Motion(header, arrays);
    this.time = header.start || 0;
    this.playing = false;
    this.clock = null;
    this.speed = 1;
    this.show = { tendons: true, frames: false, forces: true, contact: true, trails: false, see: header.see_through, follow: false };
    this.field = header.field || "";
    this.stage();
    this.build();
    this.controls();
    this.draw();
    const loop = (now) => {
      requestAnimationFrame(loop);
      this.tick(now);
    };
    requestAnimationFrame(loop);
  }

  stage() {
    const h = this.header;
    const canvas = byId("view");
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.toneMapping = NeutralToneMapping;
    this.scene = new Scene();
    this.scene.background = backdrop();
    const up = new Vector3(...h.up), centre = new Vector3(...h.center);
    this.camera = new PerspectiveCamera(35, 1, 0.01 * h.radius, 60 * h.radius);
    this.camera.up.copy(up);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.orbit.enableDamping = true;
    this.orbit.dampingFactor = 0.12;
    this.orbit.target.copy(centre);
    this.orbit.addEventListener("change", () => (this.dirty = true));
    const side = new Vector3(...h.side), front = new Vector3().crossVectors(up, side);
    this.direction = new Vector3().addScaledVector(side, 0.45).addScaledVector(front, -1).addScaledVector(up, 0.42).normalize();
    this.scene.add(new HemisphereLight(0xffffff, 0xd4d6dc, 2.3));
    const sun = new DirectionalLight(0xfff6e8, 1.7);
    sun.position.copy(centre).addScaledVector(up, 3 * h.radius).addScaledVector(side, 1.2 * h.radius).addScaledVector(front, -1.6 * h.radius);
    sun.target.position.copy(centre);
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    Object.assign(sun.shadow.camera, { left: -1.8 * h.radius, right: 1.8 * h.radius, top: 1.8 * h.radius, bottom: -1.8 * h.radius, near: 0.2 * h.radius, far: 9 * h.radius });
    sun.shadow.normalBias = 0.004 * h.radius;
    sun.shadow.radius = 4;
    this.scene.add(sun, sun.target);
    if (!h.has_floor) {
      const foot = centre.clone().addScaledVector(up, h.floor - centre.dot(up));
      const turned = new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), up);
      const plane = new PlaneGeometry(24 * h.radius, 24 * h.radius);
      const grid = new Mesh(plane, gridMaterial(h.grid, 11 * h.radius));
      const ground = new Mesh(plane, new ShadowMaterial({ opacity: 0.17 }));
      for (const [mesh, order] of [[grid, -2], [ground, -1]]) {
        mesh.quaternion.copy(turned);
        mesh.position.copy(foot);
        mesh.renderOrder = order;
      }
      ground.receiveShadow = true;
      this.scene.add(grid, ground);
    }
    const fit = () => {
      const width = window.innerWidth, height = window.innerHeight;
      this.renderer.setSize(width, height, false);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.dirty = true;
    };
    fit();
    window.addEventListener("resize", fit);
    this.home();
  }

  // the nearest distance from which the robot is seen at all times, above the bar
  home() {
    const h = this.header, half = Math.tan((this.camera.fov * Math.PI) / 360);
    const right = new Vector3().crossVectors(this.camera.up, this.direction).normalize();
    const above = new Vector3().crossVectors(this.direction, right);
    const centre = new Vector3(...h.center), spot = [0, 0, 0], every = Math.ceil(this.motion.frames / 15);
    let reach = 0.05 * h.radius;
    for (const [pose, extent] of h.seen)
      for (let frame = 0; frame < this.motion.frames; frame += every) {
        const x = new Vector3(...this.motion.place(pose, frame, spot)).sub(centre);
        const across = (Math.abs(x.dot(right)) + extent) / (0.88 * half * this.camera.aspect);
        const upright = (Math.abs(x.dot(above)) + extent) / (0.76 * half);
        reach = Math.max(reach, x.dot(this.direction) + extent + Math.max(across, upright));
      }
    this.orbit.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(this.direction, reach);
    this.orbit.update();
    this.dirty = true;
  }

  build() {
    const h = this.header, a = this.arrays;
    this.tubes = h.tubes.map((tube, i) => {
      const station = a[`tube${i}.station`], offset = a[`tube${i}.offset`];
      const geometry = surface(station.length, a[`tube${i}.faces`]);
      geometry.setAttribute("color", new BufferAttribute(new Float32Array(3 * station.length).fill(1), 3));
      const material = new MeshStandardMaterial({ color: rgb(tube.color), roughness: 0.42, metalness: 0.02 });
      const mesh = new Mesh(geometry, material);
      mesh.frustumCulled = false;
      mesh.castShadow = mesh.receiveShadow = true;
      this.scene.add(mesh);
      return { ...tube, station, offset, mesh, geometry, material };
    });
    this.solids = h.solids.map((solid, i) => {
      const geometry = new BufferGeometry();
      geometry.setAttribute("position", new BufferAttribute(a[`solid${i}.vertices`], 3));
      geometry.setIndex(new BufferAttribute(a[`solid${i}.faces`], 1));
      geometry.computeVertexNormals();
      const clear = solid.opacity < 1;
      const material = new MeshStandardMaterial({ color: rgb(solid.color), roughness: 0.55, metalness: 0.05, transparent: clear, opacity: solid.opacity, depthWrite: !clear, side: clear ? DoubleSide : FrontSide });
      const mesh = new Mesh(geometry, material);
      mesh.castShadow = !clear;
      mesh.receiveShadow = true;
      this.scene.add(mesh);
      return { ...solid, mesh };
    });
    this.cables = h.cables.map((cable, i) => {
      const material = new MeshStandardMaterial({ color: rgb(cable.color), roughness: 0.5, transparent: true, opacity: 0.9 });
      const pipe = new Pipe(a[`cable${i}.pose`].length, cable.radius, material);
      pipe.mesh.renderOrder = 1; // after rods that are seen through
      this.scene.add(pipe.mesh);
      return { ...cable, pipe, material, pose: a[`cable${i}.pose`], offset: a[`cable${i}.offset`], slack: rgb(h.slack), full: rgb(cable.color) };
    });
    this.triads = h.triads.map((triad) => {
      const group = new Group();
      h.axes.forEach((color, k) => {
        const arrow = new ArrowMesh(rgb(color), 0.0035 * h.size);
        arrow.set(0, 0, 0, ...[0, 1, 2].map((c) => (c === k ? 0.1 * h.size : 0)));
        group.add(arrow.group);
      });
      const holder = new Group().add(group);
      group.applyMatrix4(new Matrix4().set(...triad.offset));
      this.scene.add(holder);
      return { ...triad, holder };
    });
    this.arrows = h.arrows.map((arrow) => {
      const mesh = new ArrowMesh(rgb(arrow.color), 0.006 * h.size);
      this.scene.add(mesh.group);
      return { ...arrow, mesh };
    });
    if (h.gravity) {
      this.gravity = new ArrowMesh(rgb(h.gravity.color), 0.005 * h.size);
      this.gravity.set(...h.gravity.place, ...h.gravity.vector);
      const mark = label("g", 0.08 * h.size);
      mark.position.set(-0.045 * h.size, 0.1 * h.size, 0);
      this.gravity.group.add(mark);
      this.scene.add(this.gravity.group);
    }
    if (h.contacts) {
      const most = h.contacts;
      this.spots = new InstancedMesh(new SphereGeometry(0.009 * h.size, 12, 8), new MeshBasicMaterial({ color: rgb(h.contact_color) }), most);
      this.spots.frustumCulled = false;
      this.pushes = Array.from({ length: most }, () => new ArrowMesh(rgb(h.contact_color), 0.004 * h.size));
      this.rubs = Array.from({ length: most }, () => new ArrowMesh(rgb(h.friction_color), 0.004 * h.size));
      this.scene.add(this.spots, ...[...this.pushes, ...this.rubs].map((p) => p.group));
    }
    const every = Math.max(1, Math.ceil(this.motion.frames / 800));
    this.trails = (this.motion.frames > 1 ? h.tips : []).map((pose) => {
      const m = Math.floor((this.motion.frames - 1) / every) + 1;
      const pipe = new Pipe(m, 0.0022 * h.size, new MeshBasicMaterial({ color: rgb(h.trail) }), 5);
      for (let i = 0; i < m; i++) this.motion.place(pose, i * every, pipe.points.subarray(3 * i, 3 * i + 3));
      pipe.draw();
      this.scene.add(pipe.mesh);
      return { pipe, every };
    });
  }

  controls() {
    const h = this.header;
    byId("name").textContent = h.name;
    document.title = h.name;
    const has = { tendons: this.cables.length, frames: this.triads.length, forces: this.arrows.length || this.gravity, contact: h.contacts, trails: this.trails.length, see: this.tubes.length, follow: this.motion.frames > 1 };
    for (const key of Object.keys(this.show)) {
      const box = byId(`show-${key}`);
      box.checked = this.show[key];
      box.closest("label").hidden = !has[key];
      box.addEventListener("change", () => { this.show[key] = box.checked; this.draw(); });
    }
    const colors = byId("field");
    for (const field of h.fields) colors.add(new Option(field.label, field.name));
    byId("field-row").hidden = !h.fields.length;
    colors.value = this.field;
    colors.addEventListener("change", () => { this.field = colors.value; this.draw(); });
    byId("legend-bar").style.background = `linear-gradient(to right, ${h.scale.map((c) => `rgb(${c})`).join(",")})`;
    const still = this.motion.frames < 2;
    byId("bar").hidden = still;
    const scrub = byId("scrub");
    scrub.max = this.motion.duration || 1;
    scrub.step = (this.motion.duration || 1) / 2000;
    scrub.addEventListener("input", () => this.seek(+scrub.value));
    byId("play").addEventListener("click", () => this.play(!this.playing));
    byId("speed").addEventListener("change", (e) => (this.speed = +e.target.value));
    byId("home").addEventListener("click", () => this.home());
    byId("menu").addEventListener("click", () => byId("panel").classList.toggle("open"));
    if (window.innerWidth > 640) byId("panel").classList.add("open");
    window.addEventListener("keydown", (e) => {
      if (["SELECT", "INPUT", "BUTTON"].includes(e.target.tagName) && e.key === " ") return;
      if (e.key === " " && !still) { e.preventDefault(); this.play(!this.playing); }
      if (e.key === "h") this.home();
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (step && !still && !["SELECT", "INPUT"].includes(e.target.tagName)) this.seek(this.time + (step * this.motion.duration) / (this.motion.frames - 1));
    });
    if (!still && h.autoplay) this.play(true);
  }

  play(on) {
    this.playing = on;
    if (on && this.time >= this.motion.duration) this.time = 0;
    byId("play").textContent = on ? "❚❚" : "▶";
    byId("play").setAttribute("aria-label", on ? "pause" : "play");
    this.clock = null; // the next frame sets it: frames are stamped when they begin, which can be before now
  }

  seek(time) {
    this.play(false);
    this.time = Math.min(Math.max(time, 0), this.motion.duration);
    this.draw();
  }

  tick(now) {
    const dt = this.clock === null ? 0 : Math.min(Math.max((now - this.clock) / 1000, 0), 0.25);
    this.clock = now;
    if (this.playing) {
      this.time += dt * this.speed;
      if (this.time >= this.motion.duration) {
        if (byId("loop").checked) this.time %= this.motion.duration;
        else { this.time = this.motion.duration; this.play(false); }
      }
      this.draw();
    }
    this.orbit.update();
    if (this.dirty) {
      this.dirty = false;
      this.renderer.render(this.scene, this.camera);
    }
  }

  draw() {
    const { motion, arrays: a, header: h, show } = this;
    const [i, j, w] = motion.at(this.time);
    const field = h.fields.findIndex((f) => f.name === this.field);
    this.tubes.forEach((tube) => this.drawTube(tube, field, i, j, w));
    for (const { mesh, pose } of this.solids) {
      mesh.position.fromArray(motion.p, 3 * pose);
      mesh.quaternion.fromArray(motion.q, 4 * pose);
    }
    this.cables.forEach((cable, k) => {
      cable.pipe.mesh.visible = show.tendons;
      if (!show.tendons) return;
      const { pose, offset, pipe } = cable;
      for (let m = 0; m < pose.length; m++) motion.point(pose[m], offset[3 * m], offset[3 * m + 1], offset[3 * m + 2], pipe.points, 3 * m);
      pipe.draw();
      const c = this.cables.length;
      cable.material.color.copy(cable.slack).lerp(cable.full, ((1 - w) * a.tension[i * c + k] + w * a.tension[j * c + k]) / 255);
    });
    for (const { holder, pose } of this.triads) {
      holder.visible = show.frames;
      holder.position.fromArray(motion.p, 3 * pose);
      holder.quaternion.fromArray(motion.q, 4 * pose);
    }
    const n = this.arrows.length, spot = [0, 0, 0];
    this.arrows.forEach((arrow, k) => {
      motion.point(arrow.pose, ...arrow.offset, spot, 0);
      const v = [0, 1, 2].map((c) => (1 - w) * a.arrows[3 * (i * n + k) + c] + w * a.arrows[3 * (j * n + k) + c]);
      arrow.mesh.set(...spot, ...v);
      arrow.mesh.group.visible &&= show.forces;
    });
    if (this.gravity) this.gravity.group.visible = show.forces;
    if (this.spots) this.drawContacts(w < 0.5 ? i : j);
    for (const { pipe, every } of this.trails) {
      pipe.mesh.visible = show.trails;
      pipe.geometry.setDrawRange(0, 6 * pipe.sides * Math.floor(((this.time / motion.duration) * (motion.frames - 1)) / every));
    }
    if (show.follow) this.follow(); else this.centre = null;
    const legend = h.fields[field];
    byId("legend").hidden = !legend;
    if (legend) { byId("legend-low").textContent = legend.low_text; byId("legend-high").textContent = legend.high_text; }
    byId("scrub").value = this.time;
    byId("time").textContent = `${(motion.t[0] + this.time).toFixed(2)} s`;
    this.dirty = true;
  }

  drawTube(tube, field, i, j, w) {
    const { station, offset, geometry, material, first } = tube;
    const out = geometry.attributes.position.array;
    for (let v = 0; v < station.length; v++) this.motion.point(first + station[v], 0, offset[2 * v], offset[2 * v + 1], out, 3 * v);
    refresh(geometry);
    const clear = this.show.see;
    if (material.transparent !== clear || material.vertexColors !== field >= 0) {
      Object.assign(material, { transparent: clear, opacity: clear ? 0.55 : 1, depthWrite: !clear, vertexColors: field >= 0 });
      material.color.copy(field >= 0 ? new Color(1, 1, 1) : rgb(tube.color));
      material.needsUpdate = true;
    }
    if (field < 0) return;
    const values = this.arrays[`field${field}`], n = this.header.stations, scale = this.header.scale;
    const colors = geometry.attributes.color.array, color = new Color(), shift = first - this.header.first_station;
    for (let v = 0; v < station.length; v++) {
      const s = shift + station[v];
      const x = (((1 - w) * values[i * n + s] + w * values[j * n + s]) / 255) * (scale.length - 1);
      const k = Math.min(Math.floor(x), scale.length - 2);
      color.copy(rgb(scale[k])).lerp(rgb(scale[k + 1]), x - k).toArray(colors, 3 * v);
    }
    geometry.attributes.color.needsUpdate = true;
  }

  drawContacts(frame) {
    const start = this.arrays["contact.start"], data = this.arrays["contact.data"], on = this.show.contact;
    const count = on ? start[frame + 1] - start[frame] : 0, matrix = new Matrix4();
    this.spots.count = count;
    this.pushes.forEach((push, k) => {
      push.group.visible = this.rubs[k].group.visible = false;
      if (k >= count) return;
      const d = data.subarray(9 * (start[frame] + k));
      this.spots.setMatrixAt(k, matrix.makeTranslation(d[0], d[1], d[2]));
      push.set(d[0], d[1], d[2], d[3], d[4], d[5]);
      this.rubs[k].set(d[0], d[1], d[2], d[6], d[7], d[8]);
    });
    this.spots.instanceMatrix.needsUpdate = true;
  }

  follow() {
    const centre = new Vector3(), n = this.motion.n;
    for (let k = 1; k < n; k++) centre.add(new Vector3().fromArray(this.motion.p, 3 * k));
    centre.divideScalar(Math.max(n - 1, 1));
    const shift = centre.clone().sub(this.centre || this.orbit.target);
    this.centre = centre;
    this.orbit.target.add(shift);
    this.camera.position.add(shift);
  }
}

// lines every cell and every ten cells, fading away from the middle
function gridMaterial(cell, reach) {
  return new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    uniforms: { cell: { value: cell }, reach: { value: reach } },
    vertexShader: "varying vec2 at; void main() { at = position.xy; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }",
    fragmentShader: `
      varying vec2 at; uniform float cell, reach;
      float lines(float size) {
        vec2 x = at / size, w = fwidth(x);
        vec2 near = smoothstep(vec2(1.2), vec2(0.2), abs(fract(x - 0.5) - 0.5) / w) * (1.0 - smoothstep(0.2, 0.6, w));
        return max(near.x, near.y);
      }
      void main() {
        float strength = max(0.55 * lines(cell), lines(10.0 * cell)) * (1.0 - smoothstep(0.15, 1.0, length(at) / reach));
        gl_FragColor = vec4(0.52, 0.56, 0.62, 0.55 * strength);
      }`,
  });
}

function label(text, height) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const context = canvas.getContext("2d");
  context.font = "italic 600 48px Georgia, serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = "#4a505c";
  context.fillText(text, 32, 32);
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  const sprite = new Sprite(new SpriteMaterial({ map: texture, depthTest: false }));
  sprite.scale.setScalar(height);
  return sprite;
}

function backdrop() {
  const canvas = document.createElement("canvas");
  canvas.width = 2;
  canvas.height = 256;
  const context = canvas.getContext("2d");
  const shade = context.createLinearGradient(0, 0, 0, 256);
  shade.addColorStop(0, "#dfe6ee");
  shade.addColorStop(0.55, "#f1f3f6");
  shade.addColorStop(1, "#e9ebee");
  context.fillStyle = shade;
  context.fillRect(0, 0, 2, 256);
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  return texture;
}

load()
  .then((data) => { window.pliant = new Player(data); document.body.dataset.ready = "1"; })
  .catch((error) => { byId("name").textContent = String(error.message || error); console.error(error); });
