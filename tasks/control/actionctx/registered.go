package actionctx

import (
	"slices"

	"deployer/engine"
)

// Registered returns what a host registered under name; nil when the task did not
// run there, was skipped, or failed.
func Registered(actx engine.ActionContext, host, name string) engine.Output {
	out := actx.Registered(host, name)
	if out["skipped"] == true || out["failed"] == true {
		return nil
	}
	return out
}

// Missing returns those of the hosts that are in the run and have nothing registered
// under name. A decision for all hosts must not take that for an answer.
func Missing(actx engine.ActionContext, hosts []string, name string) []string {
	targets := actx.Targets()
	return slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		return !slices.Contains(targets, host) || Registered(actx, host, name) != nil
	})
}
