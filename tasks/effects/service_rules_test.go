package effects

import (
	"context"
	"os"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// TestServiceRulesMissing looks for the rules of each mode in each variant of the programs.
func TestServiceRulesMissing(t *testing.T) {
	t.Parallel()
	chain := func(program string) string { return program + " -w 5 -t nat -S KUBE-SERVICES 1" }
	gone, there := engine.CommandResult{Exit: 1}, engine.CommandResult{Stdout: "-A KUBE-SERVICES\n"}
	for name, tt := range map[string]struct {
		mode, family string
		results      map[string]engine.CommandResult // by command; other commands do not exist
		want         bool
	}{
		"iptables":                    {modeIPTables, "ipv4", map[string]engine.CommandResult{chain("iptables"): there}, false},
		"in the other variant":        {modeIPTables, "ipv4", map[string]engine.CommandResult{chain("iptables"): gone, chain("iptables-nft"): gone, chain("iptables-legacy"): there}, false},
		"iptables flushed":            {modeIPTables, "ipv4", map[string]engine.CommandResult{chain("iptables"): gone}, true},
		"IPv6 flushed":                {modeIPTables, "ipv6", map[string]engine.CommandResult{chain("ip6tables"): gone, chain("iptables"): there}, true},
		"the lock is held":            {modeIPTables, "ipv4", map[string]engine.CommandResult{chain("iptables"): {Exit: 4}}, false},
		"no program":                  {modeIPTables, "ipv4", nil, false},
		"nftables":                    {modeNFTables, "ipv4", map[string]engine.CommandResult{"nft list tables ip": {Stdout: "table ip nat\ntable ip kube-proxy\n"}}, false},
		"nftables flushed":            {modeNFTables, "ipv4", map[string]engine.CommandResult{"nft list tables ip": {Stdout: "table ip nat\n"}}, true},
		"nftables of IPv6 is flushed": {modeNFTables, "ipv6", map[string]engine.CommandResult{"nft list tables ip6": {}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
				if r, ok := tt.results[strings.Join(cmd.Argv, " ")]; ok {
					return r, nil
				}
				return engine.CommandResult{}, os.ErrNotExist
			}
			if got := serviceRulesMissing(t.Context(), sys, tt.mode, []string{tt.family}); got != tt.want {
				t.Errorf("missing: %t, want %t", got, tt.want)
			}
		})
	}
}
