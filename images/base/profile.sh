# Login shells see the renter's secrets, values with line breaks included.
if [ -r /run/berth/env ]; then set -a; . /run/berth/env; set +a; fi
