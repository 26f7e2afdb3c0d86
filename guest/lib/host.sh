# Everything that a script of this folder needs on the host. Sourced, from the project's folder.

set -euo pipefail
. guest/lib/say.sh
. guest/lib/archive.sh
. guest/lib/kernel.sh
. guest/lib/image.sh
. guest/lib/toolchain.sh
. guest/lib/module.sh
. guest/lib/machine.sh
