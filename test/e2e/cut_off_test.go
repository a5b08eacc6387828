//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
)

const firewall = `
- hosts: web
  tasks:
    - name: firewall
      rollout: {canary: h1, max_parallel: 1, restore_if_lost: 5s}
      block:
        - name: rules
          copy:
            dest: /etc/site.nft
            content: |
              table inet site
              delete table inet site
              table inet site {
                chain in { type filter hook input priority 0; tcp dport {{ dropped }} drop; }
              }

        - name: rules are loaded
          unit:
            name: site-firewall.service
            content: |
              [Service]
              Type=oneshot
              RemainAfterExit=yes
              ExecStart=/usr/sbin/nft -f /etc/site.nft
            state: started
            restart_if_older_than: [/etc/site.nft]

        - name: mark
          copy: {dest: /etc/site-mark, content: "{{ dropped }}"}
      tags: [firewall]

- hosts: web
  tasks:
    - name: remove the firewall
      shell: systemctl stop site-firewall.service; rm -f /etc/site.nft /etc/site-mark /etc/systemd/system/site-firewall.service; nft delete table inet site; systemctl daemon-reload
      tags: [cleanup]
`

// cutOff loads rules that drop SSH, on the first host of a rollout. The host restores itself,
// deployer comes back to it, and the other hosts are not changed.
func cutOff(s *site) {
	playbook := filepath.Join(s.T.TempDir(), "firewall.yaml")
	if err := os.WriteFile(playbook, []byte(firewall), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Must("run", playbook, "--tags", "firewall", "-e", "dropped=4444")
	before := s.Digests("/etc/site.nft", webHosts)

	o := s.Deployer("run", playbook, "--tags", "firewall", "-e", "dropped=22")
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), "it has restored itself and passes its checks again", "2 other hosts were not changed")
	if diff := cmp.Diff(before, s.Digests("/etc/site.nft", webHosts)); diff != "" {
		s.T.Errorf("the rules (- before, + after): %s", diff)
	}
	for _, host := range webHosts {
		if rules := s.Shell(host, "nft list table inet site"); !strings.Contains(rules, "dport 4444 drop") || strings.Contains(rules, "dport 22") {
			s.T.Errorf("%s has the rules\n%s", host, rules)
		}
		if mark := s.Shell(host, "cat /etc/site-mark"); mark != "4444" {
			s.T.Errorf("%s has the mark %s", host, mark)
		}
	}
	_, r := s.Events(s.Must("run", playbook, "--tags", "firewall", "-e", "dropped=4444", "--output", "json"))
	if r.Changed() != 0 {
		s.T.Errorf("the run with the former rules changed %d steps, want none", r.Changed())
	}
	s.Must("run", playbook, "--tags", "cleanup")
}
