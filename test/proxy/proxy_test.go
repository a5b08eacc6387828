//go:build lab

package proxy

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"deployer/test/figures"
	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/prober"
)

// refused is deployer's exit code when nothing was changed.
const refused = 4

// bound is the time within which a proxy must leave a master that vanished, and use it again.
const bound = 10 * time.Second

// idle is the time for which a watch without events must live: 9 minutes in make e2e-proxy.
var idle = flag.Duration("idle", 30*time.Second, "time for which an idle watch must live on its connection")

func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// site is a cluster of three masters and two minions.
type site struct {
	*harness.Site
	clients *clients
}

// limits are what an API proxy cannot do, and the times that it needs.
type limits struct {
	keepsDead bool          // connections to a master that vanished stay open
	unready   bool          // an API server that is not ready gets requests
	gap       time.Duration // longest gap in calls while a master vanishes
	back      time.Duration // time within which a master that is back is used
}

// TestAPIProxy tests both programs on one cluster, HAProxy as the default. It prints their figures.
func TestAPIProxy(t *testing.T) {
	figures.Scenario(t)
	s := &site{Site: harness.New(t, "proxy", plan.Spec{Masters: 3, Minions: 2})}
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "proxy")["worker_connections"] = 8192 })
	s.Must("install")
	s.clients = newClients(s.Site)
	t.Run("haproxy", func(t *testing.T) { s.on(t).program("haproxy", limits{gap: prober.Retry, back: bound}) })
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "proxy")["kind"] = "nginx" })
	s.Must("install")
	// nginx waits for fail_timeout, 10 s, and tries with the connection of a client: 11.5 s were seen.
	weaker := limits{keepsDead: true, unready: true, gap: bound, back: bound + 5*time.Second}
	t.Run("nginx", func(t *testing.T) { s.on(t).program("nginx", weaker) })
	t.Run("a default changes nothing", func(t *testing.T) { s.on(t).keepsProgram() })
}

func (s *site) on(t *testing.T) *site { return &site{Site: s.On(t), clients: s.clients} }

// keepsProgram takes the kind out of the inventory of a cluster that runs nginx.
func (s *site) keepsProgram() {
	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster", "proxy"), "kind") })
	o := s.Deployer("install")
	s.RequireExit(o, refused)
	s.RequireTexts(o.All(), "the inventory does not name proxy.kind, its default is haproxy, and the cluster runs nginx", "nothing was changed")
}

// program tests one program, and prints its figures in a line.
func (s *site) program(kind string, can limits) {
	for _, n := range []string{"n1", "n2"} {
		s.Shell(n, "pidof "+kind)
	}
	// m1 neither vanishes nor restarts, so that the watch has no other reason to end.
	idler := s.watchOn("n2", "m1", quiet)
	defer idler.close()
	s.run("2000 watches", func(s *site) { s.manyWatches(kind, 2000) })
	s.run("a master vanishes", func(s *site) { s.vanishedMaster(kind, can) })
	s.run("an API server restarts", func(s *site) { s.restartedServer(kind, can) })
	if wait := time.Until(idler.opened.Add(*idle)); wait > 0 {
		select {
		case <-idler.ended:
		case <-time.After(wait):
		}
	}
	lived := time.Since(idler.opened)
	s.T.Logf("proxy kind=%s idle_watch_s=%.0f", kind, lived.Seconds())
	figures.Record(figures.IdleWatch, lived.Seconds())
	if err := idler.alive(func() { s.change(quiet) }); err != nil {
		s.T.Errorf("a watch that was idle for %s: %v", lived.Round(time.Second), err)
	}
}

func (s *site) run(name string, do func(*site)) {
	s.T.Run(name, func(t *testing.T) { do(s.on(t)) })
}

// change changes an object, by a request to m1.
func (s *site) change(object string) {
	s.T.Helper()
	s.Kubectl("m1", "-n "+namespace+" annotate configmap "+object+" --overwrite at="+fmt.Sprint(time.Now().UnixNano()))
}

// manyWatches opens watches through the proxy of n1 and measures its processes.
func (s *site) manyWatches(kind string, n int) {
	before := s.usage("n1", kind)
	began := time.Now()
	watches, err := s.clients.watches(s.T.Context(), "n1", n)
	defer closeAll(watches)
	if err != nil {
		s.T.Fatal(err)
	}
	opened, took := s.usage("n1", kind), time.Since(began)
	const observed = 30 * time.Second
	select {
	case <-s.T.Context().Done():
	case <-time.After(observed):
	}
	after := s.usage("n1", kind)
	s.T.Logf("proxy kind=%s watches=%d opened_s=%.1f memory_mib=%.1f memory_idle_mib=%.1f cpu_open_s=%.2f cpu_%.0fs_s=%.2f",
		kind, n, took.Seconds(), after.memory, before.memory, opened.cpu-before.cpu, observed.Seconds(), after.cpu-opened.cpu)
	for _, w := range watches {
		if w.over() {
			s.T.Errorf("a watch on %s has ended within %s", w.master, time.Since(w.opened))
			break
		}
	}
}

// usage is what the processes of a program use.
type usage struct {
	memory float64 // proportional set size in MiB
	cpu    float64 // seconds
}

func (s *site) usage(host, program string) usage {
	s.T.Helper()
	var kib, ticks float64
	out := s.Shell(host, `for p in $(pidof `+program+`); do awk '/^Pss:/ {print $2}' /proc/$p/smaps_rollup; awk '{print $14 + $15}' /proc/$p/stat; done | awk 'NR % 2 {m += $1; next} {c += $1} END {print m, c}'`)
	if _, err := fmt.Sscan(out, &kib, &ticks); err != nil {
		s.T.Fatalf("%s: usage of %s: %q", host, program, out)
	}
	return usage{memory: kib / 1024, cpu: ticks / 100}
}

// vanishedMaster drops all packets of m3 for half a minute, while clients use the API through the
// proxies of both minions.
func (s *site) vanishedMaster(kind string, can limits) {
	var watches []*watch
	defer func() { closeAll(watches) }()
	for _, n := range []string{"n1", "n2"} {
		some, err := s.clients.watches(s.T.Context(), n, 30)
		watches = append(watches, some...)
		if err != nil {
			s.T.Fatal(err)
		}
	}
	target := s.ProberTarget("n1", "n2")
	tolerate := prober.Tolerance{Gap: can.gap, NotReady: []string{"m3"}, PodGap: time.Minute}
	defer s.drop("m3", false)
	s.WhileProbing(target, tolerate, func() {
		s.drop("m3", true)
		dropped := time.Now()
		s.until(dropped.Add(bound))
		s.change(watched)
		s.until(dropped.Add(bound + 5*time.Second))
		s.requireLeft(kind, watches, dropped, can)
		s.until(dropped.Add(30 * time.Second))
	})
	// A write waits for as long as the member of m3 does not reach etcd's leader: etcd gives it 7 s.
	tolerate.Gap = 15 * time.Second
	s.WhileProbing(target, tolerate, func() {
		s.drop("m3", false)
		began := time.Now()
		for _, n := range []string{"n1", "n2"} {
			s.usedAgain(n, "m3", began.Add(can.back))
		}
		s.T.Logf("proxy kind=%s used_again_s=%.1f", kind, time.Since(began).Seconds())
		s.until(began.Add(bound))
	})
}

// requireLeft checks that the watches on a master that has vanished have ended within the bound. One
// that has not, and shows no event, hangs there.
func (s *site) requireLeft(kind string, watches []*watch, vanished time.Time, can limits) {
	s.T.Helper()
	open, hanging, last := 0, 0, time.Duration(0)
	for _, w := range watches {
		switch {
		case w.over():
			last = max(last, w.endedAt().Sub(vanished))
			continue
		case !w.sawEvent():
			hanging++
		}
		open++
	}
	left := fmt.Sprintf("%.1f", last.Seconds())
	if hanging > 0 {
		left = "none"
	} else {
		figures.Record(figures.DeadMaster, last.Seconds())
	}
	s.T.Logf("proxy kind=%s dead_master_s=%s watches=%d open=%d hanging=%d", kind, left, len(watches), open, hanging)
	if (hanging > 0) != can.keepsDead {
		s.T.Errorf("%d watches hang on the master that vanished", hanging)
	}
	if last > bound {
		s.T.Errorf("the last watch on the master that vanished ended after %s", last)
	}
}

// drop drops all packets of a host, or no longer.
func (s *site) drop(host string, on bool) {
	s.T.Helper()
	rules := "add table inet vanished; delete table inet vanished" // also when there is none
	if on {
		rules = "add table inet vanished; " +
			"add chain inet vanished in { type filter hook input priority -300; }; add rule inet vanished in iifname != lo drop; " +
			"add chain inet vanished out { type filter hook output priority -300; }; add rule inet vanished out oifname != lo drop"
	}
	if out, err := s.Exec(context.WithoutCancel(s.T.Context()), host, "nft", rules); err != nil {
		s.T.Errorf("%s: nft %s: %v\n%s", host, rules, err, out)
	}
}

// usedAgain requires that a new connection through a minion's proxy reaches a master.
func (s *site) usedAgain(minion, master string, deadline time.Time) {
	s.T.Helper()
	s.Eventually(time.Until(deadline), minion+" uses "+master+" again", func() error {
		var reached []string
		for range 6 {
			m, err := s.clients.reach(s.T.Context(), minion)
			if err != nil {
				return err
			}
			if m == master {
				return nil
			}
			reached = append(reached, m)
		}
		return errors.New("new connections reach " + strings.Join(reached, ", "))
	})
}

// restartedServer ends the API server of m2 while clients make requests. An API server that stops
// answers requests on connections that are still open with 503 and Retry-After, and clients of
// Kubernetes make them again (client-go rest/with_retry.go); nothing else may fail.
func (s *site) restartedServer(kind string, can limits) {
	watches, err := s.clients.watches(s.T.Context(), "n1", 30)
	defer closeAll(watches)
	if err != nil {
		s.T.Fatal(err)
	}
	on := 0
	for _, w := range watches {
		if w.master == "m2" {
			on++
		}
	}
	callers := s.clients.call("n1", "n2")
	before := s.Shell("m2", "pidof kube-apiserver")
	began := time.Now()
	s.Shell("m2", "kill -TERM "+before)
	s.Eventually(2*time.Minute, "the API server of m2 is ready again", func() error {
		if now, _ := s.SSH(s.T.Context(), "m2", "pidof kube-apiserver"); strings.TrimSpace(now) == before || strings.TrimSpace(now) == "" {
			return fmt.Errorf("its process is %q", now)
		}
		out, err := s.SSH(s.T.Context(), "m2", "curl -sS --max-time 2 --cacert /etc/kubernetes/pki/ca.crt https://127.0.0.1:6443/readyz")
		if err == nil && out != "ok" {
			err = errors.New(out)
		}
		return err
	})
	took := time.Since(began)
	s.until(time.Now().Add(5 * time.Second))
	calls, retried, failed, first := callers.stop()
	var ended, cut int
	for _, w := range watches {
		if w.over() {
			ended++
			if !w.complete() {
				cut++
				first = cmp.Or(first, fmt.Sprintf("a watch on %s: %v", w.master, w.end()))
			}
		}
	}
	s.T.Logf("proxy kind=%s restart_s=%.1f calls=%d retried=%d failed=%d watches=%d watches_ended=%d watches_cut=%d %s", kind, took.Seconds(), calls, retried, failed, on, ended, cut, first)
	if failed+cut > 0 && !can.unready {
		s.T.Errorf("%d of %d requests failed and %d watches were cut while an API server restarted, such as: %s", failed, calls, cut, first)
	}
}

// until waits for a time.
func (s *site) until(at time.Time) {
	select {
	case <-s.T.Context().Done():
		s.T.Fatal(s.T.Context().Err())
	case <-time.After(time.Until(at)):
	}
}
