package effects

import (
	"context"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// Modes of kube-proxy.
const (
	modeIPTables = "iptables"
	modeNFTables = "nftables"
)

// iptablesPrograms are the variants with which kube-proxy may have written its rules: the program of its image
// chooses one by the rules that the host has.
var iptablesPrograms = []string{"iptables", "iptables-nft", "iptables-legacy"}

// serviceRulesMissing reports whether the kernel has no rules of kube-proxy in this mode. The rules of IPv4 decide
// where a cluster has them. It is false when no program can tell.
func serviceRulesMissing(ctx context.Context, sys engine.System, mode string, families []string) bool {
	ipv4 := slices.Contains(families, "ipv4")
	if mode == modeNFTables {
		family := "ip6"
		if ipv4 {
			family = "ip"
		}
		r, err := sys.Run(ctx, engine.Command{Argv: []string{"nft", "list", "tables", family}})
		return err == nil && r.Exit == 0 && !slices.Contains(strings.Split(r.Stdout, "\n"), "table "+family+" kube-proxy")
	}
	missing := false
	for _, program := range iptablesPrograms {
		if !ipv4 {
			program = strings.Replace(program, "iptables", "ip6tables", 1)
		}
		// Rule 1 of the chain is enough: a chain has one for each Service. Exit code 1 is a chain that does not exist.
		r, err := sys.Run(ctx, engine.Command{Argv: []string{program, "-w", "5", "-t", "nat", "-S", "KUBE-SERVICES", "1"}})
		switch {
		case err != nil:
		case r.Exit == 0:
			return false
		case r.Exit == 1:
			missing = true
		}
	}
	return missing
}

// serviceRules is the row of kube-proxy's rules. In mode iptables kube-proxy looks for a chain of its own every 30 s
// and writes all rules again; in mode nftables it compares them once an hour.
func serviceRules(want Checks, found Observation) []checkresult.Row {
	switch {
	case !found.ServiceRulesMissing:
		return []checkresult.Row{checkresult.OK("loaded")}
	case want.Services == modeNFTables:
		return []checkresult.Row{checkresult.Problem("end kube-proxy, which the kubelet starts again: pkill -x kube-proxy",
			"the table kube-proxy is not loaded, so no Service answers on this host for up to an hour; another program has removed it, such as nft flush ruleset")}
	}
	return []checkresult.Row{checkresult.Problem("wait half a minute; when it does not help, end kube-proxy, which the kubelet starts again: pkill -x kube-proxy",
		"the chain KUBE-SERVICES is not loaded, so no Service answers on this host; another program has removed it, such as nft flush ruleset")}
}
