// Package hostcheck checks whether a host meets the requirements of its roles, before any
// change.
package hostcheck

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/receipt"
)

// Checks checks every requirement. An unmet requirement is no failure: the output has a row
// for each, so that the problems of all hosts can be shown together.
type Checks struct {
	Requirements []Requirement `yaml:"requirements" doc:"requirements of the host"`
	Packages     []string      `yaml:"packages" rule:"package" doc:"host packages that must be installed, or offered by a package source that answers; as in the task package"`
}

// Requirement is one requirement of a host. Fields without a meaning for the kind are
// ignored.
type Requirement struct {
	Kind       string   `yaml:"kind" rule:"in:port,disk,memory,cpu,swap,kernel,cgroup,program,foreign,name_servers,manifest,resolv_conf,address,on_link" required:"true" doc:"address (on an interface of the host), on_link (no router is between the host and addresses), port (free, or held by one of owners), disk (min_mib and min_percent free at path, writable), memory (min_mib), cpu (min_count), swap (off), kernel (feature name: overlay, nf_conntrack, iptables, nftables, tcp_md5 or a kernel module), cgroup (min_version), program (name in the search path), foreign (path absent, empty or put there by deployer), name_servers (one that pods can reach), manifest (no other file of its directory defines the pod of the static pod at path), resolv_conf (a file of name servers for the kubelet exists: path, or by default one of those that deployer gives it)"`
	Name       string   `yaml:"name" rule:"line" doc:"name of the requirement in the report"`
	Address    string   `yaml:"address" rule:"address" doc:"of kind address: an IP address"`
	Addresses  []string `yaml:"addresses" rule:"address" doc:"of kind on_link: IP addresses"`
	Port       int      `yaml:"port" range:"0..65535" doc:"of kind port"`
	Protocol   string   `yaml:"protocol" rule:"in:tcp,udp" doc:"of kind port: tcp or udp; default tcp"`
	Path       string   `yaml:"path" rule:"path" doc:"of the kinds disk, foreign, manifest and resolv_conf; of kind port: the file of former"`
	MinMiB     int      `yaml:"min_mib" range:"0.." doc:"of the kinds disk and memory, in MiB"`
	MinPercent float64  `yaml:"min_percent" range:"0..100" doc:"of kind disk: free share of the file system; not required on a host on which deployer has installed before"`
	MinCount   int      `yaml:"min_count" range:"0.." doc:"of kind cpu"`
	MinVersion int      `yaml:"min_version" range:"0..2" doc:"of kind cgroup: oldest version, 1 or 2; default 1"`
	Owners     []string `yaml:"owners" rule:"line" doc:"of kind port: programs that may hold it"`
	Former     []string `yaml:"former" rule:"line" doc:"of kind port: programs that may hold it where the file path exists, because they give it up"`
	Why        string   `yaml:"why" rule:"line" doc:"reason for the requirement"`
}

var _ engine.Module = (*Checks)(nil)

// Check checks the requirements. The output has all rows under "checks", the failed ones
// under "problems", and under "claimed" whether deployer has installed on this host before.
func (c *Checks) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	out := checkresult.Output(append(basics(sys), c.rows(ctx, sys)...))
	out["claimed"] = receipt.Claimed(sys)
	return engine.NoChange(out), nil
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (c *Checks) rows(ctx context.Context, sys engine.System) []checkresult.Row {
	var rows []checkresult.Row
	open := &sockets{sys: sys}
	for _, r := range c.Requirements {
		found := r.look(ctx, sys, open)
		if !found.OK && r.Why != "" {
			found.Detail += "; " + r.Why
		}
		rows = append(rows, found.Named(r.title()))
	}
	if len(c.Packages) > 0 {
		rows = append(rows, installable(ctx, sys, c.Packages).Named("packages"))
	}
	return rows
}

func (r Requirement) title() string {
	switch {
	case r.Kind == "port":
		return fmt.Sprintf("port %d", r.Port)
	case r.Kind == "name_servers" || r.Kind == "resolv_conf":
		return "name servers"
	case r.Kind == "on_link":
		return "network of the nodes"
	case r.Name == "" || r.Name == r.Kind:
		return r.Kind
	}
	return r.Kind + " " + r.Name
}

func (r Requirement) look(ctx context.Context, sys engine.System, open *sockets) checkresult.Row {
	switch r.Kind {
	case "address":
		return r.address(sys)
	case "on_link":
		return r.onLink(sys)
	case "port":
		return r.port(open)
	case "disk":
		return r.disk(sys)
	case "memory":
		return r.memory(sys)
	case "cpu":
		return r.cpu(sys)
	case "swap":
		return swap(sys)
	case "kernel":
		return r.kernel(ctx, sys)
	case "cgroup":
		return r.cgroup(sys)
	case "program":
		return r.program(sys)
	case "foreign":
		return r.foreign(sys)
	case "name_servers":
		return nameServers(sys)
	case "manifest":
		return r.manifest(sys)
	case "resolv_conf":
		return r.resolvConf(sys)
	}
	return checkresult.Problem("use an agent and a deployer of the same build", "this agent knows no requirement of kind %q", r.Kind)
}
