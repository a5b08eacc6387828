//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"time"
)

// twoOutages ends the only API server twice within two minutes, in order, so that it removes its
// endpoint from the API's Service and kube-proxy rejects connections to it. kube-proxy watches
// again up to two minutes after the second outage; install restarts it before.
func twoOutages(s *site, all []string) {
	const (
		manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
		aside    = "/etc/kubernetes/kube-apiserver.yaml"
	)
	outage := func(atLeast time.Duration) {
		began := time.Now()
		s.Shell("m1", "mv "+manifest+" "+aside)
		s.Eventually(time.Minute, "the API server ends", func() error { return s.closed("m1", "127.0.0.1/6443") })
		time.Sleep(atLeast - time.Since(began))
		s.T.Logf("after %.0fs without the API server: %s", time.Since(began).Seconds(), s.serviceRules(all))
		s.Shell("m1", "mv "+aside+" "+manifest)
		s.Eventually(2*time.Minute, "the API server is ready", func() error {
			_, err := s.SSH(s.T.Context(), "m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz")
			return err
		})
	}
	outage(40 * time.Second) // until kube-proxy waits for 25 s and more between its attempts
	back := time.Now()
	s.Eventually(3*time.Minute, "kube-proxy watches after the first outage", func() error { return s.serviceAnswers(all) })
	s.T.Logf("the Service answered %.0fs after the first outage: %s", time.Since(back).Seconds(), s.serviceRules(all))
	outage(0)
	ready := time.Now()
	s.T.Logf("after the second outage: %s", s.serviceRules(all))
	s.Must("install")
	if err := s.serviceAnswers(all); err != nil {
		s.T.Error(err)
	}
	took := time.Since(ready)
	s.T.Logf("the Service answered everywhere %.0fs after the API server: %s", took.Seconds(), s.serviceRules(all))
	if took > time.Minute {
		s.T.Errorf("the Service answered after %s, want at most a minute", took.Round(time.Second))
	}
}

// serviceRules returns for each node whether kube-proxy rejects connections to the API's Service,
// and the container of kube-proxy.
func (s *site) serviceRules(nodes []string) string {
	var out []string
	for _, node := range nodes {
		text := s.Shell(node, `iptables-save -t filter | grep -c "default/kubernetes:https has no endpoints" || true; pidof kube-proxy`)
		out = append(out, node+" "+strings.Join(strings.Fields(text), " rejecting rules, kube-proxy "))
	}
	return strings.Join(out, "; ")
}

// serviceAnswers returns nil when each node reaches the address of the API's Service.
func (s *site) serviceAnswers(nodes []string) error {
	for _, node := range nodes {
		if s.closed(node, "10.96.0.1/443") == nil {
			return fmt.Errorf("%s does not reach the Service", node)
		}
	}
	return nil
}

// closed returns nil when a host cannot connect to an address, ADDRESS/PORT.
func (s *site) closed(host, address string) error {
	if _, err := s.SSH(s.T.Context(), host, "timeout 3 bash -c '</dev/tcp/"+address+"'"); err != nil {
		return nil //nolint:nilerr // the wanted state
	}
	return fmt.Errorf("%s connects to %s", host, address)
}
