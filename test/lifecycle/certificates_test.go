//go:build lab

package lifecycle

// certificatesRenewed renews all certificates of all hosts, with a controller that is
// killed at every change.
func certificatesRenewed(s *site) {
	const serving, apiserver = "/var/lib/kubelet/pki/kubelet-serving.crt", "/etc/kubernetes/pki/apiserver/apiserver.crt"
	kubelets, apiservers := s.Digests(serving, nodes), s.Digests(apiserver, masters)
	s.killAtEveryChange([]string{"certs", "renew", "--all", "--yes"}, []string{"resume"})
	for _, renewed := range []struct{ before, after map[string]string }{
		{kubelets, s.Digests(serving, nodes)}, {apiservers, s.Digests(apiserver, masters)},
	} {
		for host, digest := range renewed.before {
			if renewed.after[host] == digest {
				s.T.Errorf("%s still has the certificate that it had before", host)
			}
		}
	}
	s.Must("certs", "list")
	s.RequireReady(nodes)
	s.unchanged("after the renewal")
}
