package renewal

import (
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/staticpod"
	"deployer/tasks/unit"
)

// process is one that reads its certificate only when it starts. All others read theirs again by
// themselves (roles/certificates-in-use).
type process struct {
	name    string
	restart engine.Module
	ready   engine.Module // nil: the steps of use have another proof
}

// processes returns those of this host, in the order in which they restart.
func (r Renewal) processes() []process {
	var out []process
	if r.has("kubelet-client") {
		out = append(out, process{"kubelet", &unit.Unit{
			Name: "kubelet.service", State: "started", OnlyIfUp: true, RestartIfOlderThan: []string{r.path("kubelet-client")},
		}, nil})
	}
	for _, pod := range []struct {
		certificate, manifest string
		health                httpcheck.HTTP
	}{
		{"controller-manager", "kube-controller-manager", httpcheck.HTTP{URL: "https://127.0.0.1:10257/healthz", Insecure: true}},
		{"scheduler", "kube-scheduler", httpcheck.HTTP{URL: "https://127.0.0.1:10259/healthz", Insecure: true}},
		{"calico-typha", "calico-typha", httpcheck.HTTP{URL: "http://127.0.0.1:9098/readiness"}},
		{"kube-proxy", "kube-proxy", httpcheck.HTTP{URL: "http://127.0.0.1:10256/livez", Body: `"status":\{"IPv[46]"`}},
	} {
		if !r.has(pod.certificate) {
			continue
		}
		manifest := "/etc/kubernetes/manifests/" + pod.manifest + ".yaml"
		out = append(out, process{pod.manifest,
			&staticpod.Reload{Manifest: manifest, Files: []string{r.path(pod.certificate)}, Signal: "TERM", MissingOK: true},
			&staticpod.Ready{Manifest: manifest, Health: &pod.health, Timeout: readyTimeout, MissingOK: true},
		})
	}
	return out
}

const (
	// readyTimeout is the maximum wait for one process.
	readyTimeout = 5 * time.Minute
	// servedTimeout is the maximum wait until a server has read its files; API servers and kubelets read
	// theirs once a minute.
	servedTimeout = 5 * time.Minute
	// restoreTimeout is the maximum time in which the former certificates return.
	restoreTimeout = 10 * time.Minute
	pollEvery      = time.Second
)
