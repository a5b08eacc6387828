package effects

import (
	"strings"
	"testing"
)

// chains is the output of nft list chains on a node with kube-proxy.
const chains = `table ip filter {
	chain KUBE-FORWARD {
	}
	chain FORWARD {
		type filter hook forward priority filter; policy accept;
	}
	chain INPUT {
		type filter hook input priority filter; policy drop;
	}
}
table ip nat {
	chain POSTROUTING {
		type nat hook postrouting priority srcnat; policy accept;
	}
}
table ip deployer_pods {
	chain services {
		type filter hook forward priority filter; policy accept;
	}
}
table inet fw {
	chain guests {
	}
	chain forward {
		type filter hook forward priority filter + 10; policy accept;
	}
}
`

// TestObstacles: a healthy node has none, and each cause is named with its command.
func TestObstacles(t *testing.T) {
	t.Parallel()
	const forward = "nft list chain ip filter FORWARD"
	for name, c := range map[string]struct {
		output map[string]string
		files  map[string]string
		detail string // empty: none
		fix    string
	}{
		"none": {output: map[string]string{
			forward:                                 "table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy accept;\n\t\tcounter jump KUBE-FORWARD\n\t\tct state invalid counter drop\n\t}\n}\n",
			"nft list chain ip filter KUBE-FORWARD": "\t\tdrop\n",
		}},
		"policy":            {map[string]string{"nft list chains": strings.Replace(chains, "forward priority filter; policy accept", "forward priority filter; policy drop", 1)}, nil, "chain FORWARD of table ip filter drops packets by default", "iptables -I FORWARD -s 10.244.0.0/16 -j ACCEPT && iptables -I FORWARD -d 10.244.0.0/16 -j ACCEPT"},
		"rule":              {map[string]string{"nft list chain inet fw forward": "\t\tip saddr 10.0.0.0/8 counter packets 3 bytes 180 drop\n"}, nil, `chain forward of table inet fw has the rule "ip saddr 10.0.0.0/8 counter packets 3 bytes 180 drop"`, "nft insert rule inet fw forward ip saddr 10.244.0.0/16 accept && nft insert rule inet fw forward ip daddr 10.244.0.0/16 accept"},
		"rule of a callee":  {map[string]string{"nft list chain inet fw forward": "\t\tiifname \"cni0\" jump guests\n", "nft list chain inet fw guests": "\t\tjump guests\n\t\treject with icmpx admin-prohibited\n"}, nil, "reject with icmpx admin-prohibited", "nft insert rule inet fw forward"},
		"forwarding is off": {nil, map[string]string{"/proc/sys/net/ipv4/ip_forward": "0\n"}, "net.ipv4.ip_forward is 0", "deployer install"},
		"legacy policy":     {map[string]string{"iptables-legacy -S FORWARD": "-P FORWARD DROP\n"}, map[string]string{"/proc/net/ip_tables_names": "nat\nfilter\n"}, "chain FORWARD of iptables-legacy drops packets by default", "iptables-legacy -I FORWARD -s"},
		"legacy rule":       {map[string]string{"iptables-legacy -S FORWARD": "-P FORWARD ACCEPT\n-A FORWARD -i cni0 -j DROP\n"}, map[string]string{"/proc/net/ip_tables_names": "filter\n"}, `"-A FORWARD -i cni0 -j DROP"`, "iptables-legacy -I FORWARD -s"},
		"legacy not in use": {map[string]string{"iptables-legacy -S FORWARD": "-P FORWARD DROP\n"}, nil, "", ""},
		"strict":            {nil, map[string]string{"/proc/sys/net/ipv4/conf/all/rp_filter": "1\n"}, "net.ipv4.conf.all.rp_filter is 1", "rp_filter=2"},
		"strict interface":  {nil, map[string]string{"/proc/sys/net/ipv4/conf/all/rp_filter": "0\n", "/proc/sys/net/ipv4/conf/eth0.7/rp_filter": "1\n", "/proc/sys/net/ipv4/conf/lo/rp_filter": "1\n"}, "rp_filter of eth0.7 is 1", "sysctl -w net/ipv4/conf/eth0.7/rp_filter=2"},
		"loose":             {nil, map[string]string{"/proc/sys/net/ipv4/conf/all/rp_filter": "2\n", "/proc/sys/net/ipv4/conf/eth0/rp_filter": "1\n"}, "", ""},
		"strict, but a rule drops": {map[string]string{"nft list chain inet fw forward": "\t\tdrop\n"}, map[string]string{"/proc/sys/net/ipv4/conf/all/rp_filter": "1\n"},
			`chain forward of table inet fw has the rule "drop"`, "nft insert rule inet fw forward"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, nil)
			n.output["nft list chains"] = chains
			for line, text := range c.output {
				n.output[line] = text
			}
			for path, text := range c.files {
				n.Write(t, path, text, 0o644)
			}
			got := obstacles(t.Context(), n, "10.244.0.0/16")
			switch {
			case c.detail == "" && len(got) > 0:
				t.Errorf("obstacles %+v", got)
			case c.detail != "" && (len(got) != 1 || !strings.Contains(got[0].Detail, c.detail) || !strings.Contains(got[0].Fix, c.fix)):
				t.Errorf("obstacles %+v", got)
			}
		})
	}
}
