package cluster

// Kubeconfig is the file of a component's access to the API. Kubeconfig refers to certificate
// files instead of containing them, so that a renewed certificate needs no new
// kubeconfig: client-go rereads the files (client-go/transport/cert_rotation.go).
type Kubeconfig struct {
	Name     string `json:"name"`      // name of the user entry
	Path     string `json:"path"`      // path of the file on the host
	Server   string `json:"server"`    // URL of the API as this host reaches it
	Cluster  string `json:"cluster"`   // name of the cluster entry
	CAPath   string `json:"ca_path"`   // path of the CA certificate that signs the API servers
	CertPath string `json:"cert_path"` // path of the component's certificate
	KeyPath  string `json:"key_path"`  // path of the component's key
}

// Kubeconfigs lists the kubeconfigs of a host. All of them point at the host's
// own API server or local proxy.
func Kubeconfigs(c *Cluster, host string) []Kubeconfig {
	out := []Kubeconfig{}
	for _, cert := range Certificates(c, host) {
		path, user := kubeconfigOf(cert)
		if path == "" {
			continue
		}
		out = append(out, Kubeconfig{
			Name:     user,
			Path:     path,
			Server:   c.API.Local,
			Cluster:  c.Name,
			CAPath:   CAPath(AuthorityCluster),
			CertPath: cert.CertPath,
			KeyPath:  cert.KeyPath,
		})
	}
	return out
}

// kubeconfigOf returns the kubeconfig that uses a certificate; nil without one.
func kubeconfigOf(cert Certificate) (path, user string) {
	switch cert.Name {
	case "admin", "controller-manager", "scheduler", "kube-proxy", "calico-node", "calico-cni", "calico-typha":
		return dirKubernetes + "/" + cert.Name + ".conf", cert.CN
	case "kubelet-client":
		return dirKubernetes + "/kubelet.conf", cert.CN
	default:
		return "", ""
	}
}
