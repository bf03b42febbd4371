/**
 * The look of the player. Two layouts of the same parts: `page`, as tall as its content, and one that fits its box, from a bar of 88 px to a card of
 * 360 px. Lines of titles have a fixed height. Colours are custom properties, which a page may set.
 */

export const STYLE = `
:host {
  --accent: var(--airsplice-accent, #176b61);
  --on-accent: var(--airsplice-on-accent, #ffffff);
  --surface: var(--airsplice-surface, #ffffff);
  --text: var(--airsplice-text, #171b1a);
  --soft: var(--airsplice-soft, #565e5b);
  --line: var(--airsplice-line, #dcdfdc);
  color-scheme: light dark;
  display: block;
  box-sizing: border-box;
  height: 88px;
  container-type: size;
  color: var(--text);
  font: 400 1rem / 1.4 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  text-align: start;
}
@media (prefers-color-scheme: dark) {
  :host {
    --accent: var(--airsplice-accent, #6fd0c0);
    --on-accent: var(--airsplice-on-accent, #0d1514);
    --surface: var(--airsplice-surface, #1b1f22);
    --text: var(--airsplice-text, #f1f3f2);
    --soft: var(--airsplice-soft, #a9b1ae);
    --line: var(--airsplice-line, #343a3e);
  }
}
:host([hidden]) { display: none; }
:host([layout="page"]) { height: auto; container-type: inline-size; }
* { box-sizing: border-box; margin: 0; }
audio { display: none; }
p { overflow-wrap: anywhere; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
button:disabled { cursor: default; opacity: .45; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
.icon { display: block; width: 60%; height: 60%; fill: currentColor; }
.icon-sound, .icon-silent { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }

.player {
  display: grid;
  height: 100%;
  grid-template-columns: auto minmax(0, 1fr) auto;
  align-items: center;
  gap: 0 14px;
  padding: 8px 12px 8px 8px;
  background: var(--surface);
  border: 1px solid var(--line);
  border-radius: 14px;
  overflow: hidden;
}
.cover { position: relative; width: 70px; aspect-ratio: 1; border-radius: 10px; overflow: hidden; background: var(--line); }
.cover > * { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; object-fit: cover; }
.cover > .drawn { display: block; }
.info { min-width: 0; }
.status { display: flex; align-items: center; gap: 7px; height: 1.25rem; font-size: .8125rem; line-height: 1.25rem; color: var(--soft); white-space: nowrap; overflow: hidden; }
.status-text { overflow: hidden; text-overflow: ellipsis; }
.dot { flex: none; width: 8px; height: 8px; border-radius: 50%; border: 2px solid var(--soft); }
.lit .dot { border: 0; background: var(--accent); }
.song { font-weight: 650; line-height: 1.25; height: 1.25em; }
.artist { color: var(--soft); font-size: .9375rem; line-height: 1.3; height: 1.3em; }
.song, .artist, .next { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 1; overflow: hidden; }
[dir="ltr"] :is(.song, .artist, .name, .next, details p) { text-align: left; }
[dir="rtl"] :is(.song, .artist, .name, .next, details p) { text-align: right; }
.name, .progress, .next, details { display: none; }
.controls { display: flex; align-items: center; gap: 14px; }
.play { flex: none; display: grid; place-items: center; width: 52px; height: 52px; border-radius: 50%; background: var(--accent); color: var(--on-accent); }
.icon-stop, .on .icon-play, .muted .icon-sound, .icon-silent { display: none; }
.on .icon-stop, .muted .icon-silent { display: block; }
.play .icon { width: 50%; height: 50%; }
.volume { display: none; align-items: center; gap: 8px; color: var(--soft); }
.mute { display: grid; place-items: center; width: 44px; height: 44px; border-radius: 50%; }
.slider { width: 104px; height: 44px; margin: 0; accent-color: var(--accent); background: transparent; }
.dead .cover { filter: grayscale(1); opacity: .55; }
@container (min-width: 560px) { .volume { display: flex; } }
.fixed-volume .volume { display: none; }

@container (min-height: 200px) {
  .player { grid-template-columns: auto minmax(0, 1fr); grid-template-rows: minmax(0, 1fr) auto; gap: 16px 20px; padding: 20px; border-radius: 18px; }
  .cover { width: min(38cqw, 100cqh - 142px); border-radius: 14px; align-self: center; }
  .controls { grid-column: 1 / -1; gap: 18px; }
  .play { width: 64px; height: 64px; }
  .name { display: block; font-weight: 600; color: var(--soft); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; margin-bottom: 4px; }
  .name.none { display: none; }
  .heard { height: 7.5rem; }
  .name.none + .heard { height: calc(7.5rem + 1.4em + 4px); }
  .song { font-size: 1.375rem; height: auto; max-height: 3.75em; -webkit-line-clamp: 3; }
  .artist { margin-top: 4px; }
  .artist.hint { -webkit-line-clamp: 3; height: auto; }
  .progress { display: block; margin-top: 8px; }
  .volume { display: flex; }
}
@container (min-height: 200px) and (max-width: 420px) {
  .slider { width: 88px; }
  .song { font-size: 1.125rem; }
}
/* A phone that shows nothing else. */
@container (min-height: 520px) and (max-aspect-ratio: 3/4) {
  .player { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto auto auto; align-content: center; }
  .cover { width: min(100%, 100cqh - 352px); }
  .song { font-size: 1.5rem; }
}

.progress { height: 1.75rem; font-size: .8125rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.progress.none { visibility: hidden; }
.times { display: flex; justify-content: space-between; line-height: 1.25rem; }
.track { height: 4px; margin-top: 4px; border-radius: 2px; background: var(--line); overflow: hidden; }
.fill { height: 100%; width: 100%; background: var(--accent); transform: scaleX(0); transform-origin: left; }
[dir="rtl"] .fill { transform-origin: right; }

:host([layout="page"]) .player { height: auto; grid-template-columns: minmax(0, 1fr); gap: 20px; padding: 0; background: none; border: 0; border-radius: 0; overflow: visible; }
:host([layout="page"]) .cover { width: 100%; max-width: var(--airsplice-cover, clamp(10rem, 100svh - 28rem, 26rem)); border-radius: 22px; box-shadow: 0 18px 50px rgb(0 0 0 / 22%); }
:host([layout="page"]) .name { display: none; }
:host([layout="page"]) .status { height: 1.5rem; font-size: .9375rem; line-height: 1.5rem; white-space: nowrap; }
:host([layout="page"]) .heard { height: calc(2.3 * var(--song) + 1.3 * var(--artist) + 12px); padding-top: 6px; --song: clamp(1.5rem, 4.6cqw, 2.5rem); --artist: clamp(1.0625rem, 2.6cqw, 1.375rem); }
:host([layout="page"]) .song { font-size: var(--song); line-height: 1.15; height: auto; max-height: 2.3em; -webkit-line-clamp: 2; font-weight: 720; letter-spacing: -.015em; }
:host([layout="page"]) .artist { font-size: var(--artist); -webkit-line-clamp: 1; height: 1.3em; margin-top: 6px; }
:host([layout="page"]) .artist.hint { -webkit-line-clamp: 2; height: auto; }
:host([layout="page"]) .progress { display: block; margin-top: 14px; }
:host([layout="page"]) .controls { gap: 20px; }
:host([layout="page"]) .play { width: 76px; height: 76px; box-shadow: 0 8px 24px rgb(0 0 0 / 18%); }
:host([layout="page"]) .volume { display: flex; }
:host([layout="page"]) .fixed-volume .volume { display: none; }
:host([layout="page"]) .slider { width: min(160px, 34cqw); }
:host([layout="page"]) .next { display: -webkit-box; height: 1.4em; color: var(--soft); }
:host([layout="page"]) .next.none { visibility: hidden; }
:host([layout="page"]) details { display: block; font-size: .9375rem; color: var(--soft); }
.next > span { font-weight: 650; }
summary { cursor: pointer; width: max-content; padding: 10px 0; border-radius: 6px; }
details p { padding-bottom: 6px; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden; }
@container (min-width: 720px) {
  :host([layout="page"]) .player { grid-template-columns: min(26rem, 42cqw) minmax(0, 1fr); grid-template-rows: 1fr auto auto auto; gap: 18px 44px; }
  :host([layout="page"]) .cover { grid-row: 1 / -1; max-width: none; align-self: start; }
  :host([layout="page"]) .info { align-self: end; }
}
@media (prefers-reduced-motion: no-preference) {
  .fill { transition: transform 1s linear; }
  .play { transition: transform .15s; }
  .play:active { transform: scale(.95); }
}
.to-live { flex: none; min-height: 44px; padding: 0 16px; border: 1px solid currentColor; border-radius: 22px; color: inherit; font: inherit; }
.to-live.none { display: none; }
.volume, .slider { min-width: 0; flex: 0 1 auto; }
.mute { flex: none; }
@media (forced-colors: active) { .play { border: 2px solid ButtonText; } .fill { background: Highlight; } }
`;
