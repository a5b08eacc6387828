//go:build lab

package lifecycle

// certificatesRenewed renews all certificates of all hosts, with a controller that is
// killed at every change.
func certificatesRenewed(s *site) {
	const serving, apiserver = "/var/lib/kubelet/pki/kubelet-serving.crt", "/etc/kubernetes/pki/apiserver/apiserver.crt"
	kubelets, apiservers := s.Digests(serving, nodes), s.Digests(apiserver, masters)
	args := []string{"certs", "renew", "--all", "--yes"}
	killed := 0
	for ; s.StartRun(args...).KillAt(changed); killed++ {
		if killed > 60 {
			s.T.Fatal("the renewal makes no progress")
		}
		args = []string{"resume"}
	}
	s.T.Logf("the controller was killed %d times", killed)
	if killed < 5 {
		s.T.Errorf("the controller was killed %d times, want at least 5", killed)
	}
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
