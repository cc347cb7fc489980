#!/bin/sh
# Writes deploy/.env: a password or token for everything that compose.yaml starts. It never overwrites one.
set -eu
umask 077
cd "$(dirname "$0")"
if [ -e .env ]; then
  echo 'deploy/.env is there already; delete it, and the volumes that were made with it, to begin again' >&2
  exit 1
fi

secret() { openssl rand -hex 24; }
hash_of() { printf %s "$1" | openssl dgst -sha256 -r | cut -d ' ' -f 1; }

admin=$(secret)
scrape=$(secret)
cat > .env <<END
# Hexadecimal, because some of them are parts of URLs.
POSTGRES_PASSWORD=$(secret)
REDIS_PASSWORD=$(secret)
RABBITMQ_PASSWORD=$(secret)
# For the user admin of Grafana.
GRAFANA_PASSWORD=$(secret)
# The console at http://127.0.0.1:4600 asks for this token; the server knows its hash alone.
LAZARET_ADMIN_TOKEN=$admin
LAZARET_ADMIN_SHA256=$(hash_of "$admin")
# Prometheus has this one: a viewer's.
LAZARET_SCRAPE_TOKEN=$scrape
LAZARET_SCRAPE_SHA256=$(hash_of "$scrape")
# The demo at http://127.0.0.1:4610 asks for this one, and Prometheus has it too.
LAZARET_DEMO_TOKEN=$(secret)
END
echo 'deploy/.env is written; the tokens for the consoles are in it'
