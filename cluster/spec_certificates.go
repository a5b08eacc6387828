package cluster

import (
	"cmp"
	"time"
)

// CertificatesSpec is the `cluster.certificates:` section.
type CertificatesSpec struct {
	LeafLifetime      time.Duration `yaml:"leaf_lifetime" default:"8760h" doc:"Lifetime of new certificates of components, and of those that kubelets renew themselves; 8760h is a year. Existing ones are renewed with deployer certs renew --all."`
	AuthorityLifetime time.Duration `yaml:"authority_lifetime" default:"87600h" doc:"Lifetime of new authorities; 87600h is ten years."`
	RenewBefore       time.Duration `yaml:"renew_before" doc:"Remaining lifetime from which on a certificate is renewed; default 720h, or a twelfth of leaf_lifetime where that is less, because kubelets renew theirs with a tenth left at the latest."`

	External ExternalAuthoritiesSpec `yaml:"external_authorities" doc:"Authorities whose keys are kept outside of the cluster. Their owner signs the requests that deployer certs requests writes."`
}

// The default lifetimes are kubeadm's: CertificateValidityPeriod and
// CACertificateValidityPeriod of cmd/kubeadm/app/constants/constants.go in Kubernetes
// v1.36.
const (
	defaultLeafLifetime      = 365 * 24 * time.Hour
	defaultAuthorityLifetime = 10 * 365 * 24 * time.Hour
	defaultRenewBefore       = 30 * 24 * time.Hour
)

func (s CertificatesSpec) withDefaults() CertificatesSpec {
	s.LeafLifetime = cmp.Or(s.LeafLifetime, defaultLeafLifetime)
	s.AuthorityLifetime = cmp.Or(s.AuthorityLifetime, defaultAuthorityLifetime)
	// client-go renews a certificate when 70 % to 90 % of its lifetime have passed
	// (util/certificate, jitteryDuration).
	s.RenewBefore = cmp.Or(s.RenewBefore, min(defaultRenewBefore, s.LeafLifetime/12))
	s.External.Requests = cmp.Or(s.External.Requests, certificateRequests)
	return s
}

// minLeafLifetime is enough for a run on a small cluster.
const minLeafLifetime = time.Minute

func (c *checker) checkCertificates() {
	s := c.spec.Certificates
	switch {
	case s.LeafLifetime < minLeafLifetime:
		c.add("bad-lifetime", "cluster.certificates.leaf_lifetime", "%s is less than %s, in which no run renews all certificates", s.LeafLifetime, minLeafLifetime)
	case s.AuthorityLifetime < s.LeafLifetime:
		c.add("bad-lifetime", "cluster.certificates.authority_lifetime", "%s is less than leaf_lifetime %s: no certificate lives longer than its authority", s.AuthorityLifetime, s.LeafLifetime)
	case s.RenewBefore <= 0 || s.RenewBefore >= s.LeafLifetime:
		c.add("bad-lifetime", "cluster.certificates.renew_before", "%s must be less than leaf_lifetime %s, or each run renews every certificate", s.RenewBefore, s.LeafLifetime)
	}
}

// CertificateLifetimes are the lifetimes of certificates.
type CertificateLifetimes struct {
	Leaf        time.Duration `json:"-"`
	Authority   time.Duration `json:"-"`
	RenewBefore string        `json:"renew_before"` // remaining lifetime from which on a certificate is renewed, as in 720h0m0s

	LeafLifetime string `json:"leaf_lifetime"` // lifetime of new certificates of components, as in 8760h0m0s
}

func (s CertificatesSpec) resolve() CertificateLifetimes {
	return CertificateLifetimes{Leaf: s.LeafLifetime, Authority: s.AuthorityLifetime, RenewBefore: s.RenewBefore.String(), LeafLifetime: s.LeafLifetime.String()}
}
