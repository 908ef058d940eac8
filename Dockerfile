# Everything is made here, of which the image takes what a server needs.
FROM node:24-trixie-slim AS build
WORKDIR /app

# No package needs its install script: SQLite's binaries are in its package, and Node is the image's own.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY scripts ./scripts
RUN node scripts/build/main.ts && find dist \( -name '*.d.ts' -o -name '*.map' \) -delete
# Of what is left: binaries of other systems, SQLite's sources, and what only people and compilers read.
RUN npm prune --omit=dev --ignore-scripts && node scripts/image/slim.ts

COPY content ./content
COPY data/samples.jsonl ./data/samples.jsonl
COPY data/models ./data/models
COPY data/offers ./data/offers
COPY data/words ./data/words
COPY openapi ./openapi
# What Node compiles is kept beside it, by the user who will run it: a start then takes half as long, also where nothing can be
# written.
ENV NODE_COMPILE_CACHE=/app/compiled
RUN mkdir compiled && chown node:node compiled
USER node
RUN node scripts/image/warm.ts

FROM debian:trixie-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data NODE_COMPILE_CACHE=/app/compiled
WORKDIR /app

# Node alone: npm and its kin are 40 MB that nothing calls. A named volume takes its owner from /data, so that the server can
# write without being root.
COPY --from=build /usr/local/bin/node /usr/local/bin/node
RUN useradd --uid 1000 --no-create-home node && mkdir /data && chown node:node /data \
    && ln -s /app/dist/main.js /usr/local/bin/signalpost
# What changes seldom comes first.
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/data ./data
COPY --from=build /app/package.json ./package.json
COPY --from=build /app/content ./content
COPY --from=build /app/openapi ./openapi
COPY --from=build /app/dist ./dist
COPY --from=build /app/compiled ./compiled

VOLUME /data
USER node
EXPOSE 3000

HEALTHCHECK --interval=30s --timeout=12s --start-period=10s CMD ["node", "/app/dist/main.js", "health", "--ready"]

# Node itself is the first process: it gets SIGTERM and drains. Give it the time: docker stop --time 40
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/dist/main.js"]
