//go:build lab

package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// sysctlFile has the kernel settings of the inventory on each node.
const sysctlFile = "/etc/sysctl.d/90-deployer-kubernetes.conf"

// strictReversePath installs with a kernel setting that hardening guides name, and that cuts off
// hosts with two networks: with rp_filter=1 the kernel drops packets that arrive by another
// interface than their answers take. It passes every check before the run and the host's own
// gates, and one minion gets it.
//
// Linux looks up the route of an established connection once (ip_early_demux), so the present
// session works on, deployer fails to log in anew, and restores the host. With the look-up turned
// off, as for routers, the session ends, too, and the host restores itself without deployer.
func strictReversePath(s *site, all, minions []string) {
	for i, host := range minions {
		s.answerBySecondNetwork(host, i)
	}
	for _, cut := range []struct {
		earlyDemux string
		says       []string
	}{
		{"1", []string{`at "a new connection to the host"`, "cannot be logged in to, while the present session works", "it was restored (1 step) and passes its checks again"}},
		{"0", []string{"it has restored itself and passes its checks again"}},
	} {
		s.cutOffBy(map[string]string{
			"net.ipv4.conf.all.rp_filter": "1", "net.ipv4.conf.eth0.rp_filter": "1", "net.ipv4.ip_early_demux": cut.earlyDemux,
		}, all, minions, cut.says)
	}
}

// cutOffBy installs with kernel settings that cut one of the minions off. The host is as before
// then, and no other one has changed.
func (s *site) cutOffBy(sysctls map[string]string, all, minions, says []string) {
	s.T.Helper()
	names := strings.Join(slices.Sorted(maps.Keys(sysctls)), " ")
	live := func() map[string]string {
		out := map[string]string{}
		for _, host := range all {
			out[host] = s.Shell(host, "sysctl "+names)
		}
		return out
	}
	before, values, stamps := s.Digests(sysctlFile, all), live(), s.stamps(sysctlFile, all)
	good, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Edit(func(inv map[string]any) {
		for name, value := range sysctls {
			harness.Section(inv, "cluster", "sysctls")[name] = value
		}
	})
	s.Must("validate")
	cut := s.watchForLoss(minions)
	began := time.Now()
	o := s.Deployer("install")
	lost := cut()
	if err := os.WriteFile(s.Inventory, good, 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.T.Logf("tried, lost and restored in %.0fs; cut off: %v", time.Since(began).Seconds(), lost)
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), append(says, "2 other hosts were not changed")...)
	if len(lost) != 1 {
		s.T.Errorf("%v had the setting, want one minion", lost)
	}
	if diff := cmp.Diff(before, s.Digests(sysctlFile, all)); diff != "" {
		s.T.Errorf("%s (- before, + after): %s", sysctlFile, diff)
	}
	if diff := cmp.Diff(values, live()); diff != "" {
		s.T.Errorf("settings of the kernel (- before, + after): %s", diff)
	}
	if touched := s.changed(stamps, s.stamps(sysctlFile, all)); len(touched) != 1 || !slices.Equal(touched, lost) {
		s.T.Errorf("%s was written on %v, want on %v", sysctlFile, touched, lost)
	}
	s.RequireReady(all)
	_, r := s.Events(s.Must("install", "--output", "json"))
	if r.Changed() != 0 {
		s.T.Errorf("install without the setting changed %d steps, want none", r.Changed())
	}
}

// answerBySecondNetwork gives a host a second interface, whose network the controller is in: its
// packets to the host still arrive at eth0, and the host's answers take the other way.
func (s *site) answerBySecondNetwork(host string, i int) {
	s.T.Helper()
	controller, own := fmt.Sprintf("198.51.100.%d", 4*i+1), fmt.Sprintf("198.51.100.%d", 4*i+2) // RFC 5737
	address := s.Address(host)
	for _, argv := range [][]string{
		{"ip", "link", "add", "second-" + host, "type", "veth", "peer", "name", "eth1", "netns", plan.HostResource(s.Name, host)},
		{"ip", "address", "add", controller + "/30", "dev", "second-" + host},
		{"ip", "link", "set", "second-" + host, "up"},
	} {
		if out, err := s.Ctl(s.T.Context(), argv...); err != nil {
			s.T.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	s.Shell(host, "ip address add "+own+"/30 dev eth1 && ip link set eth1 up")
	if out, err := s.Ctl(s.T.Context(), "ip", "route", "add", address+"/32", "dev", plan.Bridge, "src", controller); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	if from := s.Shell(host, "echo $SSH_CLIENT"); !strings.HasPrefix(from, controller+" ") {
		s.T.Fatalf("%s sees the controller as %s, want %s", host, from, controller)
	}
}

// watchForLoss looks at hosts every second, without their network. The function that it returns
// ends it and returns the hosts that have had strict filters.
func (s *site) watchForLoss(hosts []string) func() []string {
	stop, done := make(chan struct{}), make(chan []string)
	go func() {
		had := map[string]bool{}
		defer func() {
			var out []string
			for _, host := range hosts {
				if had[host] {
					out = append(out, host)
				}
			}
			done <- out
		}()
		for {
			for _, host := range hosts {
				out, err := s.Exec(s.T.Context(), host, "cat", "/proc/sys/net/ipv4/conf/eth0/rp_filter")
				had[host] = had[host] || err == nil && strings.TrimSpace(out) == "1"
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return func() []string { close(stop); return <-done }
}
