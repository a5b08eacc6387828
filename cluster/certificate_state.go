package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// The states of a certificate on a host that rules distinguish. The task cert_check has
// further states, which are faults, too.
const (
	CertificateOK        = "ok"
	CertificateExpired   = "expired"
	CertificateExpiring  = "expiring"
	CertificateMissing   = "missing"
	CertificateDamaged   = "damaged"   // cannot be read, or does not belong to its key
	CertificateAuthority = "authority" // signed by another authority, or another authority than on the masters
)

// CertificateState is a certificate on a host as the task cert_check has found it.
type CertificateState struct {
	Host        string    `json:"host"`
	Name        string    `json:"name"`      // name in the table of certificates; for an authority, the name of the authority
	Path        string    `json:"path"`      // path on the host
	Subject     string    `json:"subject"`   // empty when the file cannot be read
	Authority   string    `json:"authority"` // authority that signs the certificate: cluster, etcd, front-proxy or etcd-calico
	Expires     time.Time `json:"expires"`   // time in UTC at which the certificate expires; zero when the file cannot be read
	DaysLeft    int       `json:"days_left"` // number of whole days until the certificate expires; negative after that
	State       string    `json:"state"`
	Detail      string    `json:"detail"` // the fault in a sentence; empty when the state is ok
	Fingerprint string    `json:"fingerprint"`
}

// Complete sets the values that follow from the table of the cluster and from the time: name and
// authority by the path, and the days left.
func (s CertificateState) Complete(c *Cluster, now time.Time) CertificateState {
	for _, cert := range c.Nodes[s.Host].Certificates {
		if s.Path == cert.CertPath || s.Path == cert.Rotated {
			s.Authority = cert.Authority
		}
		if s.Path == cert.Rotated {
			s.Name = cert.Name + ", rotated"
		}
	}
	for _, authority := range []string{AuthorityCluster, AuthorityEtcd, AuthorityFrontProxy, AuthorityEtcdCalico} {
		if s.Path == CAPath(authority) {
			s.Name, s.Authority = "authority "+authority, authority
		}
	}
	if !s.Expires.IsZero() {
		s.DaysLeft = int(s.Expires.Sub(now) / (24 * time.Hour))
	}
	return s
}

// ForeignAuthorities marks the certificates of authorities on hosts that have none of
// the masters' authorities, and names the certificates that do not sign: during a
// rotation hosts trust two. Without a master in the list ForeignAuthorities compares
// nothing. The certificates of a file must be in its order.
func ForeignAuthorities(c *Cluster, list []CertificateState) []CertificateState {
	type file struct{ host, path string }
	trusted := map[file][]string{} // fingerprints
	ofMasters := map[string]file{} // path -> file of the first master that has one
	out := slices.Clone(list)
	for i, s := range out {
		f := file{s.Host, s.Path}
		if !strings.HasPrefix(s.Name, "authority ") || s.Fingerprint == "" {
			continue
		}
		if len(trusted[f]) > 0 {
			out[i].Name += ", also trusted"
		}
		trusted[f] = append(trusted[f], s.Fingerprint)
		if _, found := ofMasters[s.Path]; !found && c.Nodes[s.Host].IsMaster {
			ofMasters[s.Path] = f
		}
	}
	for i, s := range out {
		want := trusted[ofMasters[s.Path]]
		known := slices.ContainsFunc(trusted[file{s.Host, s.Path}], func(sum string) bool { return slices.Contains(want, sum) })
		if strings.HasPrefix(s.Name, "authority ") && s.State == CertificateOK && len(want) > 0 && !known {
			out[i].State, out[i].Detail = CertificateAuthority, "it is not the authority of the masters; run deployer install"
		}
	}
	return out
}

// SortCertificates sorts certificates by severity: faults that stop a component come before
// those that will, then the earlier expiry comes first. Equal ones are in inventory order.
func SortCertificates(c *Cluster, list []CertificateState) {
	rank := map[string]int{}
	for i, host := range c.Order {
		rank[host] = i
	}
	slices.SortStableFunc(list, func(a, b CertificateState) int {
		return cmp.Or(
			cmp.Compare(severityOf(a.State), severityOf(b.State)),
			a.Expires.Compare(b.Expires),
			cmp.Compare(rank[a.Host], rank[b.Host]),
			cmp.Compare(a.Path, b.Path),
		)
	})
}

func severityOf(state string) int {
	switch state {
	case CertificateExpired:
		return 0
	case CertificateExpiring:
		return 2
	case CertificateOK:
		return 3
	}
	return 1 // missing, or of no use for its purpose
}
