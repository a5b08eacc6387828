//go:build lab

package keeper

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
)

// answering is a pod with a Service.
const answering = `apiVersion: apps/v1
kind: Deployment
metadata: {name: answering, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: answering}}
  template:
    metadata: {labels: {app: answering}}
    spec:
      containers:
      - {name: main, image: IMAGE, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}
---
apiVersion: v1
kind: Service
metadata: {name: answering, namespace: default}
spec:
  selector: {app: answering}
  ports: [{port: 80, targetPort: 8080}]
`

// asker asks the Service of the pod five times a second from its node, until its file is gone, and counts failures.
const asker = `touch /root/asking; : > /root/unanswered; : > /root/answered
nohup sh -c 'while [ -e /root/asking ]; do
  if curl -sf --max-time 2 http://ADDRESS/ok >/dev/null; then echo >> /root/answered; else date +%T >> /root/unanswered; fi
  sleep 0.2
done' >/dev/null 2>&1 &`

// often starts the unit of the node's timer every 20 s: certificates of minutes do not wait for an hour.
const often = `touch /root/often
nohup sh -c 'while [ -e /root/often ]; do systemctl start deployer-certificates.service; sleep 20; done' >/dev/null 2>&1 &`

// startAsking starts the pod, its client, and the frequent renewals of the minion.
func (s *site) startAsking() {
	s.T.Helper()
	s.RequireTexts(s.Shell("n1", "systemctl is-enabled deployer-certificates.timer; systemctl is-active deployer-certificates.timer"), "enabled", "active")
	s.Shell("m1", "cat > /root/answering.yaml <<'EOF'\n"+strings.Replace(answering, "IMAGE", s.ProbeImage("m1"), 1)+"EOF")
	s.Kubectl("m1", "apply -f /root/answering.yaml")
	address := strings.TrimSpace(s.Kubectl("m1", "get service answering -o jsonpath={.spec.clusterIP}"))
	s.Eventually(time.Minute, "the Service answers on its node", func() error {
		if got := s.Shell("n1", "curl -sf --max-time 2 http://"+address+"/ok || true"); strings.TrimSpace(got) != "ok" {
			return errors.New(got)
		}
		return nil
	})
	s.Shell("n1", strings.Replace(asker, "ADDRESS", address, 1))
	s.Shell("n1", often)
}

// endAsking ends what startAsking has started. The minion has renewed its certificates while the pod answered.
func (s *site) endAsking() {
	s.T.Helper()
	s.Shell("n1", "rm /root/asking /root/often; sleep 3")
	answered, _ := strconv.Atoi(strings.TrimSpace(s.Shell("n1", "wc -l < /root/answered")))
	unanswered := strings.Fields(s.Shell("n1", "cat /root/unanswered"))
	s.T.Logf("the pod answered %d times, and not at %v", answered, unanswered)
	if answered < 1000 || len(unanswered) > 0 {
		s.T.Errorf("the pod did not answer %d times", len(unanswered))
	}
	log := s.Shell("n1", "journalctl -o cat -u deployer-certificates")
	s.T.Logf("renewals of n1:\n%s", log)
	for _, name := range []string{"kubelet-serving", "kubelet-client", "kube-proxy"} {
		if n := strings.Count(log, "CertificateSigningRequest deployer-n1-"+name+"-"); n == 0 {
			s.T.Errorf("n1 never asked for a certificate of %s", name)
		}
	}
	for _, c := range s.certificates() {
		if c.Host == "n1" && slices.Contains([]string{"kubelet-serving", "kubelet-client", "kube-proxy"}, c.Name) && c.State != cluster.CertificateOK {
			s.T.Errorf("%s of n1 is %s: %s", c.Name, c.State, c.Detail)
		}
	}
	state, _ := s.state()
	approved := 0
	for _, host := range masters {
		for _, d := range state.Keepers[host].Done {
			if d.Action != string(decide.Approve) {
				continue
			}
			approved++
			if d.Result != actionlog.ResultDone {
				s.T.Errorf("%s: %s", d.Object, d.Result)
			}
		}
	}
	if s.T.Logf("%d requests were approved", approved); approved < 2 {
		s.T.Errorf("%d requests were approved, want one for each certificate", approved)
	}
}

// refused has a node ask for what it must not have, as its kubelet: the keeper approves nothing, and says so.
func (s *site) refused() {
	s.Shell("n1", "cat > /root/request.json <<'EOF'\n"+s.tooMuch()+"\nEOF\n"+`cd /var/lib/kubelet/pki
if [ -e kubelet-client-current.pem ]; then own="--cert kubelet-client-current.pem"; else own="--cert kubelet-client.crt --key kubelet-client.key"; fi
curl -sf --cacert /etc/kubernetes/pki/ca.crt $own -H 'Content-Type: application/json' --data-binary @/root/request.json https://127.0.0.1:6443/apis/certificates.k8s.io/v1/certificatesigningrequests >/dev/null`)
	s.Eventually(2*time.Minute, "the keeper refuses the request", func() error {
		state, out := s.state()
		for _, host := range masters {
			if slices.ContainsFunc(state.Keepers[host].Problems, func(p decide.Problem) bool {
				return p.Reason == decide.CertificateRequestRefused && strings.Contains(p.Message, `"too-much" of "system:node:n1"`) && strings.Contains(p.Message, `not valid for "m1"`)
			}) {
				return nil
			}
		}
		return errors.New(out.All())
	})
	if got := s.Kubectl("m1", "get csr too-much -o jsonpath={.status}"); strings.Contains(got, "Approved") {
		s.T.Errorf("the request has %s", got)
	}
	s.Kubectl("m1", "delete csr too-much")
}

// tooMuch is a request of n1 for the certificate of its kubelet, with the name of a master besides its own.
func (s *site) tooMuch() string {
	s.T.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.T.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}, DNSNames: []string{"n1", "m1"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		s.T.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": map[string]any{"name": "too-much"},
		"spec": map[string]any{"request": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), "signerName": decide.SignerServing, "usages": []string{"digital signature", "server auth"}},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return string(text)
}

// minionRenewed brings a minion back whose certificates have expired while no keeper worked: that needs a run.
func (s *site) minionRenewed() {
	s.Must("certs", "renew", "--yes")
	s.Eventually(5*time.Minute, "the minion is Ready", func() error {
		if now := s.ReadyStatus("m1", "n1"); now != "True" {
			return errors.New(now)
		}
		return nil
	})
}
