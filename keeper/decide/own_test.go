package decide

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

func certificate(name, state string, left time.Duration) world.Certificate {
	return world.Certificate{Name: name, Path: "/pki/" + name + ".crt", State: state, Detail: "it is " + state, Expires: now.Add(left)}
}

func TestRenewal(t *testing.T) {
	const day = 24 * time.Hour
	outside := certificate("apiserver", cluster.CertificateExpired, -day)
	outside.External = true
	for name, c := range map[string]struct {
		own    world.Own
		off    bool
		acts   bool
		names  []string
		urgent bool
	}{
		"all well":     {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateOK, 300*day)}}},
		"expires soon": {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateExpiring, 20*day)}}, acts: true, names: []string{"apiserver"}},
		"expires soon, and another not much later": {own: world.Own{Certificates: []world.Certificate{
			certificate("admin", cluster.CertificateOK, 37*day), certificate("apiserver", cluster.CertificateExpiring, 29*day), certificate("scheduler", cluster.CertificateOK, 38*day),
		}}, acts: true, names: []string{"apiserver", "admin"}},
		"soon, and none is due":  {own: world.Own{Certificates: []world.Certificate{certificate("admin", cluster.CertificateOK, 31*day)}}},
		"has expired":            {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateExpired, -day)}}, acts: true, names: []string{"apiserver"}, urgent: true},
		"missing":                {own: world.Own{Certificates: []world.Certificate{certificate("scheduler", cluster.CertificateMissing, 0)}}, acts: true, names: []string{"scheduler"}},
		"both files of one":      {own: world.Own{Certificates: []world.Certificate{certificate("kubelet-client", cluster.CertificateExpiring, day), certificate("kubelet-client", cluster.CertificateExpiring, day)}}, acts: true, names: []string{"kubelet-client"}},
		"other names":            {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", "names", 300*day)}}},
		"another authority":      {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateAuthority, 300*day)}}},
		"an authority ends":      {own: world.Own{Certificates: []world.Certificate{certificate("", cluster.CertificateExpired, -day)}}},
		"of an outside one":      {own: world.Own{Certificates: []world.Certificate{outside}}},
		"a process is older":     {own: world.Own{Stale: []string{"kube-scheduler"}}, acts: true},
		"off, and it would act":  {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateExpiring, day)}}, off: true},
		"off, and nothing to do": {own: world.Own{}, off: true},
	} {
		s := settings().Certificates
		*s.Renew = !c.off
		c.own.Now = now
		d := Renewal(s, "m1", c.own, Lifetimes{RenewBefore: 30 * day, Leaf: 365 * day})
		if (len(d.Actions) == 1) != c.acts || len(d.Actions) > 1 {
			t.Errorf("%s: actions %v, want one: %t", name, d.Actions, c.acts)
			continue
		}
		if c.acts && (!slices.Equal(d.Actions[0].Certificates, c.names) || d.Actions[0].Object.Name != "m1") {
			t.Errorf("%s: %+v, want certificates %v of m1", name, d.Actions[0], c.names)
		}
		if blocked := c.off && len(c.own.Certificates) > 0; blocked != (len(d.Blocked) == 1) {
			t.Errorf("%s: blocked %v, want one: %t", name, d.Blocked, blocked)
		}
		if Urgent(c.own) != c.urgent {
			t.Errorf("%s: urgent %t", name, !c.urgent)
		}
	}
}

func TestOwnProblems(t *testing.T) {
	const day = 24 * time.Hour
	lifetimes := Lifetimes{RenewBefore: 30 * day, Leaf: 365 * day}
	outside := certificate("apiserver", cluster.CertificateExpired, -day)
	outside.External = true
	for name, c := range map[string]struct {
		own          world.Own
		reason, text string
	}{
		"all well":                    {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateOK, 300*day), certificate("", cluster.CertificateOK, 3000*day)}}},
		"time for a renewal":          {own: world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateExpiring, 16*day)}}},
		"half of that time is over":   {world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateExpiring, 14*day)}}, CertificateExpiring, "deployer certs renew"},
		"expired":                     {world.Own{Certificates: []world.Certificate{certificate("apiserver", cluster.CertificateExpired, -day)}}, CertificateExpired, "/pki/apiserver.crt on m1: it is expired: deployer certs renew"},
		"expired, of an outside one":  {world.Own{Certificates: []world.Certificate{outside}}, CertificateExpired, "deployer certs requests"},
		"other names":                 {world.Own{Certificates: []world.Certificate{certificate("apiserver", "names", 300*day)}}, CertificateWrong, "deployer certs list"},
		"an authority for six months": {world.Own{Certificates: []world.Certificate{certificate("", cluster.CertificateOK, 180*day)}}, AuthorityExpiring, "2027-05-27, before certificates that it signs now: deployer certs rotate-ca"},
		"a file that somebody edited": {world.Own{Drift: []world.Drift{{Path: "/etc/kubernetes/manifests/kube-scheduler.yaml", Difference: "its content has changed", Run: "r1"}}}, HostDrift, "files of m1 are not as runs left them: /etc/kubernetes/manifests/kube-scheduler.yaml (its content has changed since run r1); deployer plan"},
		"another address":             {world.Own{Missing: []string{"10.0.0.1"}}, AddressMissing, "no interface of m1 has the address 10.0.0.1"},
	} {
		c.own.Now = now
		problems := OwnProblems("m1", c.own, lifetimes)
		if c.reason == "" {
			if len(problems) > 0 {
				t.Errorf("%s: %v, want none", name, problems)
			}
			continue
		}
		if len(problems) != 1 || problems[0].Reason != c.reason || !strings.Contains(problems[0].Message, c.text) {
			t.Errorf("%s: %v, want %s with %q", name, problems, c.reason, c.text)
		}
	}
}

func TestServedProblems(t *testing.T) {
	const day = 24 * time.Hour
	w := fleet()
	w.RenewBefore = 30 * day
	for i, left := range []time.Duration{10 * day, 0, 0, 10 * day, 16 * day, 0} { // m1, m2, m3, n1, n2, n3
		if left > 0 {
			w.Nodes[i].Serves = now.Add(left)
		}
	}
	problems := Problems(settings(), w, Decision{})
	if len(problems) != 1 || problems[0].Reason != NodeCertificateExpiring || !strings.Contains(problems[0].Message, "node n1 serves a certificate until 2026-12-08") {
		t.Errorf("%v, want one about n1", problems)
	}
	w.Nodes[3].Serves, w.Nodes[4].Others = time.Time{}, &world.OtherCertificates{Names: []string{"calico-node-etcd"}, Expires: now.Add(10 * day)}
	s := settings()
	if problems := Problems(s, w, Decision{}); len(problems) != 1 || !strings.Contains(problems[0].Message, "certificates of node n2 that it cannot renew itself (calico-node-etcd) end from 2026-12-08 on") {
		t.Errorf("%v, want one about n2", problems)
	}
	s.Certificates.Nodes = new(false) // nothing keeps the annotation as it has to be
	if problems := Problems(s, w, Decision{}); len(problems) != 0 {
		t.Errorf("%v, want none", problems)
	}
}

func TestBackupProblems(t *testing.T) {
	for name, c := range map[string]struct {
		newest, since time.Duration // ago; 0: never
		want          string
	}{
		"a day old":                      {newest: 24 * time.Hour, since: 1000 * time.Hour},
		"two days and more":              {newest: 49 * time.Hour, since: 1000 * time.Hour, want: "the newest scheduled snapshot of etcd is of 2026-11-26 02:00 UTC"},
		"none yet":                       {since: 47 * time.Hour},
		"none since the schedule exists": {since: 49 * time.Hour, want: "etcd has no scheduled snapshot"},
	} {
		b := world.Backups{Of: "etcd", Since: now.Add(-c.since)}
		if c.newest > 0 {
			b.Newest = now.Add(-c.newest)
		}
		w := fleet()
		w.Backups = []world.Backups{b}
		problems := Problems(settings(), w, Decision{})
		if c.want == "" {
			if len(problems) > 0 {
				t.Errorf("%s: %v, want none", name, problems)
			}
			continue
		}
		if len(problems) != 1 || problems[0].Reason != BackupOld || !strings.Contains(problems[0].Message, c.want) {
			t.Errorf("%s: %v, want %q", name, problems, c.want)
		}
	}
}
