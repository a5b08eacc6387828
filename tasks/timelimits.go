package tasks

import (
	"time"

	"deployer/engine"
)

// Limits of kinds for which engine.DefaultTimeLimit is not right.
const (
	// transfers bring much to a host, maybe over a slow line, or wait for programs
	// that do so; 4 h are 20 GB at 1.4 MB/s.
	transfers = 4 * time.Hour
	// programs are the user's own, of which nobody else knows how long they take:
	// backups, migrations.
	programs = 24 * time.Hour
)

var timeLimits = map[string]time.Duration{
	"command": programs, "shell": programs, "script": programs, "script_run": programs,

	"archive": transfers, "artifact": transfers, "blob_install": transfers, "copy": transfers, "download": transfers, "file": transfers, "git": transfers,
	"host_download": transfers, "image": transfers, "image_import": transfers, "package": transfers, "service": transfers, "directory_tree": transfers,
	"unarchive": transfers, "unit": transfers, "unpack": transfers,

	"bird_ready": engine.NoTimeLimit, "proxy_ready": engine.NoTimeLimit, "runtime_ready": engine.NoTimeLimit,
	"static_pod_ready": engine.NoTimeLimit, "wait_for": engine.NoTimeLimit,
}

// limited gives kinds their limits.
func limited(kinds []engine.Kind) []engine.Kind {
	for i, k := range kinds {
		kinds[i].TimeLimit = timeLimits[k.Name]
	}
	return kinds
}
