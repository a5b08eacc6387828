package effects

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/kernel"
)

// Obstacle is a setting of the host that may stop packets of its pods.
type Obstacle struct{ Detail, Fix string }

// obstacles looks for what may stop the packets of pods in podRange on their way through the
// host. The last one found is the least likely.
func obstacles(ctx context.Context, sys engine.System, podRange string) []Obstacle {
	var out []Obstacle
	if liveSetting(sys, "net.ipv4.ip_forward") == "0" {
		out = append(out, Obstacle{"net.ipv4.ip_forward is 0", "deployer install"})
	}
	out = append(out, filterObstacles(ctx, sys, podRange)...)
	out = append(out, legacyObstacles(ctx, sys, podRange)...)
	if len(out) == 0 {
		out = strictInterfaces(sys)
	}
	return out
}

func liveSetting(sys engine.System, key string) string {
	raw, _ := os.ReadFile(sys.Path(kernel.ProcPath(key)))
	return kernel.Normal(string(raw))
}

// filterObstacles returns the chains of nftables that forwarded packets pass and that drop some.
// Rules of iptables are chains of nftables, too, unless the host has iptables-legacy.
func filterObstacles(ctx context.Context, sys engine.System, podRange string) []Obstacle {
	r, err := sys.Run(ctx, engine.Command{Argv: []string{"nft", "list", "chains"}, MaxOutput: 8 << 20})
	if err != nil || r.Exit != 0 {
		return nil
	}
	var out []Obstacle
	for _, c := range parseChains(r.Stdout) {
		if !c.filtersPods() {
			continue
		}
		if c.policy == "drop" {
			out = append(out, Obstacle{fmt.Sprintf("%s drops packets by default", c), c.fix(podRange)})
			continue
		}
		if rule := (&ruleSearch{sys: sys, chain: c}).find(ctx, c.name); rule != "" {
			out = append(out, Obstacle{fmt.Sprintf("%s has the rule %q", c, rule), c.fix(podRange)})
		}
	}
	return out
}

// ruleSearch looks for a rule that drops packets in a base chain and the chains that it calls.
type ruleSearch struct {
	sys   engine.System
	chain chain
	seen  []string
}

// maxChains is the maximum number of chains of one base chain that are read.
const maxChains = 20

// find returns the first rule of a chain that drops packets; empty for none.
func (s *ruleSearch) find(ctx context.Context, name string) string {
	if slices.Contains(s.seen, name) || len(s.seen) == maxChains {
		return ""
	}
	s.seen = append(s.seen, name)
	r, err := s.sys.Run(ctx, engine.Command{Argv: []string{"nft", "list", "chain", s.chain.family, s.chain.table, name}})
	if err != nil || r.Exit != 0 {
		return ""
	}
	for line := range strings.Lines(r.Stdout) {
		words := strings.Fields(line)
		if slices.Contains(words, "drop") || slices.Contains(words, "reject") {
			// Packets of no connection are dropped on purpose.
			if !strings.Contains(line, "ct state invalid") && !strings.Contains(line, "policy ") {
				return strings.Join(words, " ")
			}
			continue
		}
		for i, w := range words[:max(0, len(words)-1)] {
			if to := words[i+1]; (w == "jump" || w == "goto") && !isOfCluster(to) {
				if rule := s.find(ctx, to); rule != "" {
					return rule
				}
			}
		}
	}
	return ""
}

// isOfCluster reports whether kube-proxy, the kubelet or a CNI plugin has written a chain.
func isOfCluster(chain string) bool {
	return strings.HasPrefix(chain, "KUBE-") || strings.HasPrefix(chain, "CNI-")
}

// chain is a base chain of nftables.
type chain struct{ family, table, name, hook, policy string }

func (c chain) String() string {
	return fmt.Sprintf("chain %s of table %s %s", c.name, c.family, c.table)
}

// filtersPods reports whether forwarded packets pass the chain, and deployer or kube-proxy has not
// written it.
func (c chain) filtersPods() bool {
	return slices.Contains([]string{"ip", "inet"}, c.family) && slices.Contains([]string{"prerouting", "forward", "postrouting"}, c.hook) &&
		!slices.Contains([]string{"deployer_pods", "kube-proxy"}, c.table)
}

// fix returns the commands that let packets of pods pass the chain.
func (c chain) fix(podRange string) string {
	if c.family == "ip" && c.table == "filter" && c.name == "FORWARD" {
		return iptablesFix("iptables", podRange)
	}
	at := fmt.Sprintf("nft insert rule %s %s %s ip ", c.family, c.table, c.name)
	return fmt.Sprintf("let packets of pods pass there, and in the configuration of the firewall that has written it: %ssaddr %s accept && %sdaddr %s accept", at, podRange, at, podRange)
}

func iptablesFix(program, podRange string) string {
	return fmt.Sprintf("let packets of pods pass there, and in the configuration of the firewall that has written it: %s -I FORWARD -s %s -j ACCEPT && %s -I FORWARD -d %s -j ACCEPT",
		program, podRange, program, podRange)
}

// parseChains parses the base chains in the output of nft list chains.
func parseChains(text string) []chain {
	var out []chain
	var now chain
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) >= 3 && words[0] == "table":
			now = chain{family: words[1], table: words[2]}
		case len(words) >= 2 && words[0] == "chain":
			now.name = words[1]
		case len(words) > 3 && words[0] == "type" && words[1] == "filter" && words[2] == "hook":
			base := now
			base.hook, base.policy = words[3], "accept"
			if i := slices.Index(words, "policy"); i > 0 && i+1 < len(words) {
				base.policy = strings.TrimSuffix(words[i+1], ";")
			}
			out = append(out, base)
		}
	}
	return out
}

// legacyObstacles is filterObstacles for the rules of iptables-legacy, which nft does not list.
func legacyObstacles(ctx context.Context, sys engine.System, podRange string) []Obstacle {
	tables, _ := os.ReadFile(sys.Path("/proc/net/ip_tables_names"))
	if !slices.Contains(strings.Fields(string(tables)), "filter") {
		return nil
	}
	r, err := sys.Run(ctx, engine.Command{Argv: []string{"iptables-legacy", "-S", "FORWARD"}})
	if err != nil || r.Exit != 0 {
		return nil
	}
	for line := range strings.Lines(r.Stdout) {
		line = strings.TrimSpace(line)
		switch {
		case line == "-P FORWARD DROP":
			return []Obstacle{{"chain FORWARD of iptables-legacy drops packets by default", iptablesFix("iptables-legacy", podRange)}}
		case strings.HasSuffix(line, "-j DROP") || strings.Contains(line, "-j REJECT"):
			return []Obstacle{{fmt.Sprintf("chain FORWARD of iptables-legacy has the rule %q", line), iptablesFix("iptables-legacy", podRange)}}
		}
	}
	return nil
}

// strictInterfaces reports interfaces that accept a packet only from where they would send the
// answer: 1 is strict, 2 is loose, and the higher one of all and of the interface holds (Linux
// Documentation/networking/ip-sysctl.rst).
func strictInterfaces(sys engine.System) []Obstacle {
	const dir = "/proc/sys/net/ipv4/conf"
	all := liveSetting(sys, "net.ipv4.conf.all.rp_filter")
	if all == "1" {
		return []Obstacle{{"net.ipv4.conf.all.rp_filter is 1, so packets whose answers would leave by another interface are dropped", "sysctl -w net.ipv4.conf.all.rp_filter=2, and in the file in /etc/sysctl.d that sets it"}}
	}
	if all == "2" {
		return nil
	}
	var strict []string
	for _, name := range names(sys, dir) {
		raw, _ := os.ReadFile(sys.Path(dir + "/" + name + "/rp_filter"))
		if name != "all" && name != "default" && name != "lo" && kernel.Normal(string(raw)) == "1" {
			strict = append(strict, name)
		}
	}
	if len(strict) == 0 {
		return nil
	}
	return []Obstacle{{"rp_filter of " + strings.Join(strict[:min(len(strict), 4)], ", ") + " is 1, so packets whose answers would leave by another interface are dropped",
		"sysctl -w net/ipv4/conf/" + strict[0] + "/rp_filter=2, and in the file in /etc/sysctl.d that sets it"}}
}
