/** As `orval --client fetch`, but asking a server that is only known when the client is used. */
// biome-ignore lint/style/noDefaultExport: orval reads no other
export default {
  airsplice: {
    input: './openapi.json',
    output: {
      client: 'fetch',
      target: './generated/orval.ts',
      baseUrl: { runtime: 'server.origin', imports: [{ name: 'server', importPath: '../orval-server.js' }] },
    },
  },
};
