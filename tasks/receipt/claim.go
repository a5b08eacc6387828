package receipt

import (
	"os"

	"deployer/engine"
)

// claimPath is the receipt which says that deployer installs on this host.
const claimPath = Dir + "/host.json"

// Claim notes that deployer installs on this host. Whatever puts something in a
// place where another installation would be looked for calls it before, so that
// the next run knows its own leftovers from somebody else's.
func Claim(sys engine.System) error {
	if Claimed(sys) {
		return nil
	}
	return Write(sys, claimPath, struct {
		Run string `json:"run"`
	}{sys.RunID()})
}

// Claimed reports whether an earlier run has installed something on this host.
func Claimed(sys engine.System) bool {
	_, err := os.Stat(sys.Path(claimPath))
	return err == nil
}
