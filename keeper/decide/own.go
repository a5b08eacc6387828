package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// Renewal returns what the certificates of the keeper's host need: those that expire soon, have expired,
// are missing or damaged are renewed, and processes that began before their certificate restart.
// Differences from the inventory are those of a run, and authorities those of a person. With one certificate
// go those that would be due soon after it, so that one renewal is enough.
func Renewal(s cluster.KeeperCertificatesSpec, host string, own world.Own, l Lifetimes) (d Decision) {
	var names, later, why []string
	for _, c := range own.Certificates {
		switch {
		case c.Name == "" || c.External || slices.Contains(names, c.Name):
		case renewable(c.State):
			names, why = append(names, c.Name), append(why, c.Name+": "+c.Detail)
		case c.State == cluster.CertificateOK && c.Expires.Sub(own.Now) < Together(l.RenewBefore):
			later = append(later, c.Name)
		}
	}
	if len(names) > 0 {
		for _, name := range later {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, process := range own.Stale {
		why = append(why, process+" began before its certificate")
	}
	switch {
	case len(why) == 0:
	case !*s.Renew:
		d.block("renew certificates of "+host, "cluster.keeper.certificates.renew is false: run deployer certs renew")
	default:
		d.do(Action{Kind: RenewCertificates, Object: NodeNamed(host), Certificates: names, Why: strings.Join(why, "; ")})
	}
	return d
}

// Together returns the remaining lifetime with which a certificate is renewed along with one that is due.
func Together(renewBefore time.Duration) time.Duration { return renewBefore * 5 / 4 }

// namedFiles is the maximum number of files that a problem names.
const namedFiles = 5

func renewable(state string) bool {
	return slices.Contains([]string{cluster.CertificateExpiring, cluster.CertificateExpired, cluster.CertificateMissing, cluster.CertificateDamaged}, state)
}

// Urgent reports whether a certificate that the keeper may renew has expired: then the API may refuse
// everybody, so that no lease gives a turn.
func Urgent(own world.Own) bool {
	return slices.ContainsFunc(own.Certificates, func(c world.Certificate) bool {
		return c.Name != "" && !c.External && c.State == cluster.CertificateExpired
	})
}

// Lifetimes are those of the inventory.
type Lifetimes struct {
	RenewBefore time.Duration // remaining lifetime from which on certificates are renewed
	Leaf        time.Duration // of a new certificate
}

// OwnProblems returns what a person should know of the keeper's host. Certificates that are renewed as they
// should be are no problem, so one that expires is named when half of the time for its renewal is over.
func OwnProblems(host string, own world.Own, l Lifetimes) (out []Problem) {
	for _, address := range own.Missing {
		out = append(out, Problem{AddressMissing, fmt.Sprintf("no interface of %s has the address %s, which the inventory gives it: deployer etcd readdress takes a cluster to other addresses", host, address)})
	}
	if n := len(own.Drift); n > 0 {
		var files []string
		for _, f := range own.Drift[:min(n, namedFiles)] {
			files = append(files, fmt.Sprintf("%s (%s since run %s)", f.Path, f.Difference, f.Run))
		}
		text := strings.Join(files, ", ")
		if n > namedFiles {
			text += fmt.Sprintf(" and %d more", n-namedFiles)
		}
		out = append(out, Problem{HostDrift, fmt.Sprintf("files of %s are not as runs left them: %s; deployer plan shows what a run would change back", host, text)})
	}
	for _, c := range own.Certificates {
		left := c.Expires.Sub(own.Now)
		add := func(reason, advice string) {
			out = append(out, Problem{reason, fmt.Sprintf("%s on %s: %s: %s", c.Path, host, c.Detail, advice)})
		}
		renew := "deployer certs renew"
		if c.External {
			renew = "deployer certs requests, then deployer certs renew"
		}
		switch {
		case c.Name == "" && !c.Expires.IsZero() && left < l.Leaf/2:
			out = append(out, Problem{AuthorityExpiring, fmt.Sprintf("the authority %s on %s expires on %s, before certificates that it signs now: deployer certs rotate-ca", c.Path, host, c.Expires.UTC().Format(time.DateOnly))})
		case c.State == cluster.CertificateOK:
		case c.State == cluster.CertificateExpired:
			add(CertificateExpired, renew)
		case c.State == cluster.CertificateExpiring:
			if left < l.RenewBefore/2 {
				add(CertificateExpiring, renew)
			}
		default:
			add(CertificateWrong, "deployer certs list shows it; "+renew)
		}
	}
	return out
}

// backupProblems returns the etcd clusters without a scheduled snapshot that is young enough.
func backupProblems(s cluster.KeeperEtcdSpec, w world.World) (out []Problem) {
	for _, b := range w.Backups {
		last := b.Newest
		text := fmt.Sprintf("the newest scheduled snapshot of %s is of %s", b.Of, last.UTC().Format("2006-01-02 15:04 MST"))
		if last.IsZero() {
			last, text = b.Since, fmt.Sprintf("%s has no scheduled snapshot", b.Of)
		}
		if w.Now.Sub(last) > s.BackupMaxAge {
			out = append(out, Problem{BackupOld, fmt.Sprintf("%s: look at deployer-%s-backup.service on the masters, or run deployer etcd backup", text, b.Of)})
		}
	}
	return out
}
