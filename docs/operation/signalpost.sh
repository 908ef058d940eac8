#!/bin/sh
# As /usr/local/bin/signalpost: the command line with the server's settings and as its user, whoever calls it. What is set by
# the caller goes before /etc/signalpost.env, whose lines are NAME=value, without quotes, as systemd reads them.
while IFS= read -r line; do
  name=${line%%=*}
  case $name in
    *[!A-Z0-9_]* | '') continue ;;
  esac
  eval "[ -n \"\${$name+set}\" ]" || export "$name=${line#*=}"
done < /etc/signalpost.env
if [ "$(id -u)" = 0 ]; then exec runuser -u signalpost -- /opt/signalpost/node_modules/.bin/signalpost "$@"; fi
exec /opt/signalpost/node_modules/.bin/signalpost "$@"
