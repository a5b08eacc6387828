package control

import (
	"time"

	"deployer/engine"
)

// timeLimits are the time limits of actions for which engine.DefaultTimeLimit is
// unsuitable: a fetched file may be large, and most other actions have a timeout
// among their arguments.
var timeLimits = map[string]time.Duration{
	"addon": 24 * time.Hour, "addons_removed": 24 * time.Hour, // each wait has the add-on's timeout

	"fetch": 4 * time.Hour, "hook": engine.NoTimeLimit, "reboot": engine.NoTimeLimit,

	"encryption_rewrite":  24 * time.Hour, // 4 million objects at 50 a second
	"certificates_served": engine.NoTimeLimit, "ca_published": engine.NoTimeLimit,

	"snapshot_check": 4 * time.Hour, // reads the whole file

	"etcd_add_member": engine.NoTimeLimit, "etcd_remove_member": engine.NoTimeLimit, "etcd_healthy": engine.NoTimeLimit, "etcd_may_restart": engine.NoTimeLimit, "etcd_defragment": engine.NoTimeLimit, "kube_apply": engine.NoTimeLimit, "corefile_check": engine.NoTimeLimit, "kube_drain": engine.NoTimeLimit,
	"kube_node": engine.NoTimeLimit, "kube_ready": engine.NoTimeLimit, "kube_rollout": engine.NoTimeLimit, "kube_uncordon": engine.NoTimeLimit,
	"kubelet_ready": engine.NoTimeLimit, "leader_watches": engine.NoTimeLimit, "nodes_ready": engine.NoTimeLimit, "verify_pods": engine.NoTimeLimit, "conformance": engine.NoTimeLimit,
}

// limited sets the time limits of kinds.
func limited(kinds []engine.Kind) []engine.Kind {
	for i, k := range kinds {
		kinds[i].TimeLimit = timeLimits[k.Name]
	}
	return kinds
}
