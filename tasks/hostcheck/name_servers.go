package hostcheck

import (
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/resolver"
)

// nameServers requires a file with a name server that pods can reach. A file without any is
// accepted: the host has none to give.
func nameServers(sys engine.System) checkresult.Row {
	path, servers := resolver.File(sys)
	switch {
	case !readable(sys, path):
		return noServersFile(path)
	case len(servers) == 0:
		return checkresult.OK("%s names none", path)
	case !resolver.HasReachable(servers):
		return checkresult.Problem("write the servers that the local resolver asks into "+path+", or set cluster.dns.upstreams in the inventory",
			"%s has only %s, an address that means the pod itself in a pod: cluster DNS would ask itself for ever", path, strings.Join(servers, ", "))
	}
	return checkresult.OK("%s of %s", strings.Join(servers, ", "), path)
}

// resolvConf requires the file that the inventory gives to the kubelet, or one of those that
// deployer gives it.
func (r Requirement) resolvConf(sys engine.System) checkresult.Row {
	path := r.Path
	if path == "" {
		path, _ = resolver.File(sys)
	}
	if !readable(sys, path) {
		return noServersFile(path)
	}
	return checkresult.OK("%s exists", path)
}

func readable(sys engine.System, path string) bool {
	_, ok := resolver.Servers(sys, path)
	return ok
}

func noServersFile(path string) checkresult.Row {
	return checkresult.Problem("create "+path+"; resolvConf in the overrides of the kubelet names another file",
		"%s does not exist, and a kubelet without a file of name servers starts no pod", path)
}
