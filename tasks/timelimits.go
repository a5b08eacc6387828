package tasks

import (
	"time"

	"deployer/engine"
)

// Time limits of kinds for which engine.DefaultTimeLimit is too short.
const (
	// transfers is for modules that send much data, perhaps over a slow line, or wait for
	// programs that do; 4 h are 20 GB at 1.4 MB/s.
	transfers = 4 * time.Hour
	// programs is for the user's own programs, such as backups and migrations, whose
	// duration only the user knows.
	programs = 24 * time.Hour
)

var timeLimits = map[string]time.Duration{
	"command": programs, "shell": programs, "script": programs, "script_run": programs,

	"archive": transfers, "etcd_snapshot": transfers, "artifact": transfers, "blob_install": transfers, "copy": transfers, "download": transfers, "file": transfers, "git": transfers,
	"host_download": transfers, "image": transfers, "image_import": transfers, "package": transfers, "service": transfers, "directory_tree": transfers,
	"unarchive": transfers, "unit": transfers, "unpack": transfers,

	"bird_ready": engine.NoTimeLimit, "proxy_ready": engine.NoTimeLimit, "runtime_ready": engine.NoTimeLimit,
	"dns_answers": engine.NoTimeLimit, "static_pod_ready": engine.NoTimeLimit, "static_pod_reload": engine.NoTimeLimit, "wait_for": engine.NoTimeLimit,
}

// limited sets the time limits of kinds.
func limited(kinds []engine.Kind) []engine.Kind {
	for i, k := range kinds {
		kinds[i].TimeLimit = timeLimits[k.Name]
	}
	return kinds
}
