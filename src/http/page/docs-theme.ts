/**
 * The look of `/docs`: Swagger UI, dark if the reader's system is, within the width of a phone, and with the names and contrast that axe requires.
 */

/** Swagger UI's switch of its dark mode is in a bar that this page lacks. */
export const THEME_SCRIPT = `
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
const viewport = document.createElement('meta');
Object.assign(viewport, { name: 'viewport', content: 'width=device-width, initial-scale=1' });
document.head.append(viewport);
document.getElementById('swagger-ui').setAttribute('role', 'main');
`;

export const THEME_STYLE = `
html:not(.dark-mode) .swagger-ui :is(.info a, .info .link, .info .url, .markdown a) { color: #1f5fae; }
html:not(.dark-mode) .swagger-ui :is(.btn.authorize, .btn.authorize span) { color: #19804f; border-color: #19804f; }
html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #1a6fb8; }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #19804f; }
html:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #9a5b00; }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #c62828; }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5b6270; }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4f7000; }
html.dark-mode body { background: #1c2022; }
.swagger-ui .wrapper { padding: 0 12px; }
@media (max-width: 640px) {
  .swagger-ui { overflow-wrap: anywhere; }
  .swagger-ui .opblock .opblock-section-header { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-section-header h4 { flex: 1 0 auto; }
  .swagger-ui .opblock .opblock-summary, .swagger-ui .opblock-tag, .swagger-ui .scheme-container .schemes { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; word-break: break-all; }
  .swagger-ui table, .swagger-ui tbody, .swagger-ui tr, .swagger-ui td { display: block; width: auto; min-width: 0; }
  .swagger-ui thead { display: none; }
  .swagger-ui .opblock-body, .swagger-ui .table-container, .swagger-ui .model-box { max-width: 100%; overflow-x: auto; }
  .swagger-ui input, .swagger-ui select, .swagger-ui textarea { max-width: 100%; min-width: 0 !important; }
}
`;
