package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBadInventories(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no hosts":            {"hosts: {}", "inventory.yaml: no hosts: add at least one under hosts"},
		"hosts missing":       {"forks: 1", `inventory.yaml:1:1: key "hosts" is required: the hosts by name; a name may hold ranges, as in n[001:997]`},
		"empty file":          {"", `inventory.yaml:1:1: key "hosts" is required: the hosts by name; a name may hold ranges, as in n[001:997]`},
		"misspelt":            {"hosts:\n  m1: {adress: 10.0.0.1}", `inventory.yaml:2:8: unknown key "adress" in host m1; did you mean "address"?`},
		"misspelt ssh":        {"hosts:\n  m1: {ssh: {prot: 1}}", `inventory.yaml:2:14: unknown key "prot" in ssh of host m1; did you mean "port"?`},
		"misspelt bastion":    {"hosts: {m1: }\nssh: {bastion: {adress: x, address: y}}", `inventory.yaml:2:17: unknown key "adress" in bastion; did you mean "address"?`},
		"unknown role":        {"hosts: {m1: }\nroles: {masters: [m1]}", `inventory.yaml:2:9: unknown key "masters" in roles; did you mean "master"?`},
		"role, no host":       {"hosts: {m1: , n1: }\nroles: {minion: [node7]}", `inventory.yaml:2:18: role minion: there is no host or group node7; known here: m1, n1`},
		"role, near host":     {"hosts: {master1: }\nroles: {master: [mastr1]}", `inventory.yaml:2:18: role master: there is no host or group mastr1; did you mean "master1"?`},
		"role, range":         {"hosts: {\"n[1:3]\": }\nroles:\n  minion: n[2:6]", `inventory.yaml:3:11: role minion: there is no host or group n[4:6]; did you mean "n1"?`},
		"role, bad range":     {"hosts: {n1: }\nroles:\n  minion: n[1-3]", `inventory.yaml:3:11: role minion: n[1-3]: want a range as in n[1:3] or n[001:100]`},
		"range backwards":     {"hosts:\n  n[3:1]:", `inventory.yaml:2:3: host range [3:1]: the end is before the start`},
		"range too long":      {"hosts:\n  n[1:20000]:", `inventory.yaml:2:3: host range [1:20000]: more than 10000`},
		"ranges too many":     {"hosts:\n  n[1:200]-[1:200]:", `inventory.yaml:2:3: host n[1:200]-[1:200] stands for more than 10000`},
		"too many hosts":      {"hosts:\n  n[1:6000]:\n  m[1:6000]:", `inventory.yaml:3:3: more than 10000 hosts`},
		"twice":               {"hosts:\n  n[1:3]:\n  n2:", `inventory.yaml:3:3: host n2 is defined already, on line 2; to give one host of a range its own settings, make a group of it`},
		"same key twice":      {"hosts:\n  n1:\n  n1:", `inventory.yaml:3:3: key "n1" is given twice in hosts; first on line 2`},
		"two taints":          {"hosts:\n  n1: {taints: [\"app=a:NoSchedule\", \"app=b:NoSchedule\"]}", `inventory.yaml:2:3: taints app=a:NoSchedule and app=b:NoSchedule have the same key and effect, and a node has one of them: remove one`},
		"two taints, group":   {"hosts: {n1: }\ngroups:\n  g: {hosts: n1, taints: [\"a:NoExecute\", \"a=b:NoExecute\"]}", `inventory.yaml:3:3: taints a:NoExecute and a=b:NoExecute have the same key and effect, and a node has one of them: remove one`},
		"upper case":          {"hosts: {M1: }", `inventory.yaml:1:9: host name "M1" must be lower case: "m1"`},
		"underscore":          {"hosts: {m_1: }", `inventory.yaml:1:9: host name "m_1" must not contain _; use "m-1"`},
		"bad name":            {"hosts: {-m: }", `inventory.yaml:1:9: host name "-m" may only have lower case letters, digits, dashes and dots`},
		"same address":        {"hosts:\n  m1: {address: 10.0.0.1}\n  m2: {address: 10.0.0.1}", `inventory.yaml:3:3: host m2 has the address 10.0.0.1 of host m1 on line 2; hosts behind one address need a port each: write address: ADDRESS:PORT, or ssh: {port: ...}`},
		"same IPv6":           {"hosts:\n  m1: {address: \"fd00::1\"}\n  m2: {address: \"fd00:0:0::1\"}", `inventory.yaml:3:3: host m2 has the address fd00:0:0::1 of host m1 on line 2; hosts behind one address need a port each: write address: ADDRESS:PORT, or ssh: {port: ...}`},
		"same port":           {"ssh: {port: 2222}\nhosts:\n  m1: {address: 10.0.0.1}\n  m2: {address: 10.0.0.1, ssh: {port: 2222}}", `inventory.yaml:4:3: host m2 has the address 10.0.0.1 of host m1 on line 3; hosts behind one address need a port each: write address: ADDRESS:PORT, or ssh: {port: ...}`},
		"port 22 and none":    {"hosts:\n  m1: {address: 10.0.0.1}\n  m2: {address: 10.0.0.1, ssh: {port: 22}}", `inventory.yaml:3:3: host m2 has the address 10.0.0.1 of host m1 on line 2; hosts behind one address need a port each: write address: ADDRESS:PORT, or ssh: {port: ...}`},
		"bad address":         {"hosts:\n  m1: {address: 10.0.0.300}", `inventory.yaml:2:3: host m1: address "10.0.0.300" is neither an IP address nor a name`},
		"address with a word": {"hosts:\n  m1: {address: \"10.0.0.3:ssh\"}", `inventory.yaml:2:3: host m1: port "ssh" of address 10.0.0.3 is not from 1 to 65535`},
		"address, large port": {"hosts:\n  m1: {address: \"10.0.0.3:70000\"}", `inventory.yaml:2:3: host m1: port "70000" of address 10.0.0.3 is not from 1 to 65535`},
		"address, two ports":  {"hosts:\n  m1: {address: \"10.0.0.3:2201\", ssh: {port: 2202}}", `inventory.yaml:2:3: host m1 has the port 2201 in its address, and ssh.port, too; keep one`},
		"address, one port":   {"hosts:\n  m1: {address: \"10.0.0.3:2201\"}\n  m2: {address: \"10.0.0.3:2201\"}", `inventory.yaml:3:3: host m2 has the address 10.0.0.3 of host m1 on line 2; hosts behind one address need a port each: write address: ADDRESS:PORT, or ssh: {port: ...}`},
		"address prefix":      {"hosts:\n  m1: {address: 10.0.0.3/24}", `inventory.yaml:2:3: host m1: address "10.0.0.3/24" contains a prefix length; write the address alone`},
		"address count":       {"hosts:\n  m[1:3]: {address: \"10.0.0.[1:2]\"}", `inventory.yaml:2:3: m[1:3] is 3 hosts, but address 10.0.0.[1:2] is 2 addresses; there must be one address for each host`},
		"node address, name":  {"hosts:\n  m1: {node_address: m1.example}", `inventory.yaml:2:3: host m1: node_address "m1.example" is a name; write the IP address that the host has on the network of the nodes`},
		"node address, mask":  {"hosts:\n  m1: {node_address: 10.0.0.3/24}", `inventory.yaml:2:3: host m1: node_address "10.0.0.3/24" contains a prefix length; write the address alone`},
		"node address, port":  {"hosts:\n  m1: {node_address: \"10.0.0.3:22\"}", `inventory.yaml:2:3: host m1: node_address "10.0.0.3:22" contains a port; write the address alone`},
		"node address, count": {"hosts:\n  m[1:3]: {node_address: \"10.0.0.[1:2]\"}", `inventory.yaml:2:3: m[1:3] is 3 hosts, but node_address 10.0.0.[1:2] is 2 addresses; there must be one address for each host`},
		"external address":    {"hosts:\n  m1: {external_address: 203.0.113.300}", `inventory.yaml:2:3: host m1: external_address "203.0.113.300" is neither an IP address nor a name`},
		"one address":         {"hosts:\n  m[1:3]: {address: 10.0.0.1}", `inventory.yaml:2:3: m[1:3] is 3 hosts, but address 10.0.0.1 is 1 address; there must be one address for each host`},
		"group in hosts":      {"hosts: {m1: }\ngroups: {a: {hosts: [m1]}, b: {hosts: [a]}}", `inventory.yaml:2:40: group b: "a" is a group; list it under children`},
		"host in children":    {"hosts: {m1: }\ngroups: {a: {children: [m1]}}", `inventory.yaml:2:25: child "m1" of group a is a host; list it under hosts`},
		"no such child":       {"hosts: {m1: }\ngroups: {rack1: {children: [rak2]}, rack2: }", `inventory.yaml:2:29: group rack1: there is no group "rak2"; did you mean "rack2"?`},
		"group cycle":         {"hosts: {m1: }\ngroups:\n  a: {children: [b]}\n  b: {children: [c]}\n  c: {children: [b]}", `inventory.yaml:4:3: groups contain each other: b -> c -> b`},
		"group in itself":     {"hosts: {m1: }\ngroups: {a: {children: [a]}}", `inventory.yaml:2:10: groups contain each other: a -> a`},
		"group named all":     {"hosts: {m1: }\ngroups: {all: }", `inventory.yaml:2:10: group name "all" is reserved; roles are given under roles`},
		"group named role":    {"hosts: {m1: }\ngroups: {master: {hosts: [m1]}}", `inventory.yaml:2:10: group name "master" is reserved; roles are given under roles`},
		"group named host":    {"hosts: {m1: }\ngroups: {m1: }", `inventory.yaml:2:10: group m1 has the name of the host on line 1`},
		"group name":          {"hosts: {m1: }\ngroups: {1a: }", `inventory.yaml:2:10: group name "1a" is not made of letters, digits, - and _, beginning with a letter`},
		"port":                {"hosts: {m1: , m2: }\nssh: {port: 70000}", `inventory.yaml:2:13: ssh.port 70000 is not from 1 to 65535`},
		"port is a word":      {"hosts: {m1: {ssh: {port: ssh}}}", `inventory.yaml:1:26: ssh.port of host m1: want a whole number, got "ssh"`},
		"host keys":           {"hosts: {m1: }\nssh: {host_keys: none}", `inventory.yaml:2:18: ssh.host_keys: want one of strict, accept-new, got "none"`},
		"two passwords":       {"hosts: {m1: }\nssh: {become: sudo, become_password_env: A, become_password_file: b}", `inventory.yaml:2:42: ssh.become_password_env and ssh.become_password_file are both set; keep one`},
		"password, no become": {"hosts: {m1: }\nssh: {become_password_file: b}", `inventory.yaml:2:29: a become password is set, but ssh.become is none`},
		"become":              {"hosts: {m1: }\nssh: {become: true}", `inventory.yaml:2:15: ssh.become: want one of none, sudo, doas, su, got "true"`},
		"timeout":             {"hosts: {m1: }\nssh: {connect_timeout: 10}", `inventory.yaml:2:24: ssh.connect_timeout: want a duration such as 500ms, 10s or 1h30m, got "10"; write 10s`},
		"bastion empty":       {"hosts: {m1: }\nssh: {bastion: {user: x}}", `inventory.yaml:2:16: a bastion requires either address, or host with the name of a host of this inventory`},
		"bastion unknown":     {"hosts: {jump1: , n: }\nssh: {bastion: {host: jmp1}}", `inventory.yaml:2:16: bastion: there is no host "jmp1"; did you mean "jump1"?`},
		"max_fail":            {"hosts: {m1: }\nmax_fail: {minions: 1}", `inventory.yaml:2:12: max_fail: there is no role or group "minions"; did you mean "minion"?`},
		"max_fail value":      {"hosts: {m1: }\nmax_fail: {minion: 110%}", `inventory.yaml:2:20: max_fail.minion: "110%" is not a share of hosts; write a percentage from 0% to 100%`},
		"label":               {"hosts:\n  m1: {labels: {a b: c}}", `inventory.yaml:2:17: a b=c is not a label of Kubernetes`},
		"taint":               {"hosts:\n  m1: {taints: [a]}", `inventory.yaml:2:17: taints[0] of host m1: want a taint as key=value:Effect, where Effect is NoSchedule, PreferNoSchedule or NoExecute, got "a"`},
		"environment":         {"hosts: {m1: }\nvars: {a: !env NOPE}", `inventory.yaml:2:11: environment variable "NOPE" is not set; export it before this run`},
		"unquoted range":      {"hosts: {m1: }\nroles: {master: [m[1:3]]}", `inventory.yaml:2:18: not YAML: a range inside [ ] or { } needs quotes: "m[1:3]"; or write the list with dashes`},
		"names in a mapping":  {"hosts: {m1: }\nroles: {master: {m1: x}}", `inventory.yaml:2:17: want a list of names, got a mapping`},
		"forks":               {"hosts: {m1: }\nforks: -1", `inventory.yaml: forks must not be negative`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text, nil)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	_, err := read("hots: {}\nhosts:\n  M1:\n  m2: {adress: x}\nroles: {master: [m3]}\n", nil)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{"1:1: unknown key", "3:3: host name", "4:8: unknown key", "5:18: role master"}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("want %d lines, got:\n%v", len(want), err)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], "inventory.yaml:"+w) {
			t.Errorf("line %d is %q, want %q", i, lines[i], w)
		}
	}
}
