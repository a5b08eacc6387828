package actionctx

import (
	"slices"

	"deployer/engine"
)

// Registered returns what a host registered under name; nil when it did not: it was not
// asked, the question was skipped, or it failed.
func Registered(site engine.Site, host, name string) engine.Output {
	out := site.Registered(host, name)
	if out["skipped"] == true || out["failed"] == true {
		return nil
	}
	return out
}

// Missing lists those of the hosts that are in the run and have not been heard.
// Who decides for all of them must not take that for an answer.
func Missing(site engine.Site, hosts []string, name string) []string {
	targets := site.Targets()
	return slices.DeleteFunc(slices.Clone(hosts), func(host string) bool {
		return !slices.Contains(targets, host) || Registered(site, host, name) != nil
	})
}
