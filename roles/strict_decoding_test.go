package roles_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"deployer/keeper/config"
	"deployer/keeper/maintenance"
	"deployer/keeper/noderenewal"
	"deployer/keeper/reboot"
	"deployer/project"
)

// TestFilesDecodeStrictly decodes every file of every host of every sample with the
// types or rules of the program that reads it; an unknown field is an error.
func TestFilesDecodeStrictly(t *testing.T) {
	for name := range goldenHosts() {
		s := newSite(t, name)
		for _, host := range project.ClusterHosts(s.inv, s.cluster) {
			for file, text := range s.files(t, host) {
				if err := readable(file, text); err != nil {
					t.Errorf("%s: %s of %s: %v", name, file, host, err)
				}
			}
		}
	}
}

// readable decodes a file with the types of its reader. A file without a known reader is
// an error, so that every new template needs a check.
func readable(file, text string) error {
	if strings.Contains(text, "<no value>") || strings.Contains(text, "%!") {
		return fmt.Errorf("a template printed nothing or a wrong verb")
	}
	switch ext := path.Ext(file); {
	case file == "/etc/deployer/etcd-member" || file == "/etc/deployer/etcd-events-member" || file == "/etc/deployer/etcd-calico-member": // its existence is read
		return nil
	case file == "/etc/deployer/etcd-backup-keys.age", // package keybackup reads it
		file == "/etc/deployer/etcd-backup-mac.key": // the script of the timer reads it
		return nil
	case file == "kubernetes:etcd-guard.yaml.tmpl" && strings.TrimSpace(text) == "": // allow_empty
		return nil
	case strings.HasPrefix(file, "kubernetes:"):
		return eachDocument(text, object)
	case strings.HasPrefix(file, "/etc/kubernetes/manifests/"):
		return staticPod(text)
	case ext == ".conf" && path.Dir(file) == "/etc/kubernetes":
		return kubeconfig(text)
	case file == "/var/lib/kubelet/config.json":
		return credentials(text)
	case file == "/etc/deployer/keeper.yaml":
		_, err := config.Parse(file, []byte(text))
		return err
	case file == "/etc/deployer/reboot.yaml":
		_, err := reboot.ParseConfig(file, []byte(text))
		return err
	case file == "/etc/deployer/node-certificates.yaml":
		_, err := noderenewal.ParseConfig(file, []byte(text))
		return err
	case file == "/etc/deployer/keeper-profiles.yaml":
		_, err := maintenance.Load([]byte(text), file, func(string) (string, bool) { return "", true }, nil)
		return err
	case ext == ".yaml":
		return anyObject(text)
	case file == "/etc/cni/net.d/10-calico.conflist":
		return calicoList(text)
	case file == "/etc/calico/calicoctl.cfg":
		return calicoctl(text)
	case ext == ".conflist":
		return networkList(text)
	case ext == ".toml":
		return toml.Unmarshal([]byte(text), &map[string]any{})
	case strings.HasPrefix(file, "/etc/systemd/system/deployer-certificates."), strings.HasPrefix(file, "/etc/systemd/system/deployer-etcd-backup."), strings.HasPrefix(file, "/etc/systemd/system/deployer-etcd-calico-backup."): // of the module timer
		return nil
	case ext == ".service":
		return unitFile(text)
	case ext == ".network":
		return interfaceFile(text)
	case ext == ".sh":
		return exec.Command("/bin/sh", "-n", "-c", text).Run()
	case ext == ".env":
		return environment(text)
	case ext == ".crt":
		if !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
			return errors.New("no certificate in it")
		}
		return nil
	case ext == ".pem":
		_, err := tls.X509KeyPair([]byte(text), []byte(text))
		return err
	case ext == ".conf", ext == ".nft", file == "/etc/kubernetes/node-dns/Corefile":
		return balanced(text)
	}
	return fmt.Errorf("no check knows this kind of file")
}

// calicoctl decodes a configuration of calicoctl (libcalico-go lib/apiconfig,
// CalicoAPIConfig).
func calicoctl(text string) error {
	var config struct {
		APIVersion, Kind string
		Metadata         struct{}
		Spec             struct {
			DatastoreType, Kubeconfig                                string
			EtcdEndpoints, EtcdCACertFile, EtcdCertFile, EtcdKeyFile string
		}
	}
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		return err
	}
	s := config.Spec
	api := s.DatastoreType == "kubernetes" && s.Kubeconfig != ""
	etcd := s.DatastoreType == "etcdv3" && s.EtcdEndpoints != "" && s.EtcdCACertFile != "" && s.EtcdCertFile != "" && s.EtcdKeyFile != ""
	if config.Kind != "CalicoAPIConfig" || api == etcd {
		return fmt.Errorf("it leads to no datastore: %+v", config)
	}
	return nil
}

// credentials decodes a file with credentials of registries. The kubelet takes user
// and password of each (kubernetes pkg/credentialprovider/config.go,
// DockerConfigJSON) and ignores keys that it does not know.
func credentials(text string) error {
	var config struct {
		Auths map[string]struct{ Username, Password string }
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	for registry, c := range config.Auths {
		if c.Username == "" || c.Password == "" {
			return fmt.Errorf("%s has no user or no password", registry)
		}
	}
	if len(config.Auths) == 0 {
		return errors.New("it has no registry")
	}
	return nil
}

func eachDocument(text string, check func(string) error) error {
	for i, doc := range strings.Split(text, "\n---\n") {
		if err := check(doc); err != nil {
			return fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return nil
}

// object decodes one Kubernetes object into its Go type.
func object(doc string) error {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
		return err
	}
	if strings.HasPrefix(head.APIVersion, "crd.projectcalico.org/") { // Calico's definitions are no part of this module
		return nil
	}
	types := map[string]any{
		"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
		"Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
		"ConfigMap": &corev1.ConfigMap{}, "Deployment": &appsv1.Deployment{},
		"MutatingAdmissionPolicy": &admissionv1.MutatingAdmissionPolicy{}, "MutatingAdmissionPolicyBinding": &admissionv1.MutatingAdmissionPolicyBinding{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
		"Service":             &corev1.Service{}, "ServiceAccount": &corev1.ServiceAccount{},
	}
	into, ok := types[head.Kind]
	if !ok {
		return fmt.Errorf("no type for kind %q here", head.Kind)
	}
	return yaml.UnmarshalStrict([]byte(doc), into)
}

// staticPod decodes a static pod and checks that every mount has a volume, which the
// kubelet checks only on the host.
func staticPod(text string) error {
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
		return err
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir == nil && (v.HostPath == nil || !path.IsAbs(v.HostPath.Path)) {
			return fmt.Errorf("volume %s is not a path of the host", v.Name)
		}
		volumes[v.Name] = true
	}
	unmounted := maps.Clone(volumes)
	for _, c := range pod.Spec.InitContainers {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				return fmt.Errorf("mount %s of an init container has no volume", m.Name)
			}
			delete(unmounted, m.Name)
		}
	}
	for _, c := range pod.Spec.Containers {
		if c.Image == "" || !pod.Spec.HostNetwork || pod.Namespace != "kube-system" {
			return fmt.Errorf("container %s has no image, or the pod is not on the host's network in kube-system", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				return fmt.Errorf("mount %s has no volume", m.Name)
			}
			delete(unmounted, m.Name)
		}
		if c.Resources.Requests.Cpu().Cmp(resource.MustParse("1m")) < 0 {
			return fmt.Errorf("container %s requests no CPU", c.Name)
		}
	}
	if len(unmounted) > 0 {
		return fmt.Errorf("volumes without a mount: %v", unmounted)
	}
	return nil
}

func kubeconfig(text string) error {
	var c clientcmdv1.Config
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return err
	}
	if len(c.Contexts) != 1 || c.CurrentContext != c.Contexts[0].Name ||
		c.Contexts[0].Context.Cluster != c.Clusters[0].Name || c.Contexts[0].Context.AuthInfo != c.AuthInfos[0].Name {
		return fmt.Errorf("the context does not lead to the cluster and the user")
	}
	return nil
}

// anyObject decodes configuration: that of API servers with its types, of which only this
// test imports the package, and that of kubelet and kube-proxy by its head, because package
// componentconfig decodes it before each run.
func anyObject(text string) error {
	var o struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	if o.APIVersion == "" || o.Kind == "" {
		return fmt.Errorf("neither apiVersion nor kind")
	}
	types := map[string]any{
		"AdmissionConfiguration": &apiserverv1.AdmissionConfiguration{}, "AuthenticationConfiguration": &apiserverv1.AuthenticationConfiguration{},
		"EncryptionConfiguration": &apiserverv1.EncryptionConfiguration{}, "Policy": &auditv1.Policy{},
	}
	if into, ok := types[o.Kind]; ok {
		return yaml.UnmarshalStrict([]byte(text), into)
	}
	return nil
}

func networkList(text string) error {
	var list struct {
		CNIVersion string `json:"cniVersion"`
		Name       string `json:"name"`
		Plugins    []struct {
			Type         string          `json:"type"`
			Bridge       string          `json:"bridge"`
			IsGateway    bool            `json:"isGateway"`
			HairpinMode  bool            `json:"hairpinMode"`
			IPMasq       bool            `json:"ipMasq"`
			MTU          int             `json:"mtu"`
			Capabilities map[string]bool `json:"capabilities"`
			IPAM         *struct {
				Type   string              `json:"type"`
				Ranges [][]subnet          `json:"ranges"`
				Routes []map[string]string `json:"routes"`
			} `json:"ipam"`
		} `json:"plugins"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return err
	}
	_, err := netip.ParsePrefix(list.Plugins[0].IPAM.Ranges[0][0].Subnet)
	return err
}

// calicoList decodes the configuration of Calico's plugins with their keys (cni-plugin
// pkg/types).
func calicoList(text string) error {
	var list struct {
		CNIVersion string `json:"cniVersion"`
		Name       string `json:"name"`
		Plugins    []struct {
			Type          string            `json:"type"`
			LogLevel      string            `json:"log_level"`
			LogFilePath   string            `json:"log_file_path"`
			DatastoreType string            `json:"datastore_type"`
			EtcdEndpoints string            `json:"etcd_endpoints"`
			EtcdCA        string            `json:"etcd_ca_cert_file"`
			EtcdCert      string            `json:"etcd_cert_file"`
			EtcdKey       string            `json:"etcd_key_file"`
			Nodename      string            `json:"nodename"`
			MTU           int               `json:"mtu"`
			IPAM          map[string]string `json:"ipam"`
			Policy        map[string]string `json:"policy"`
			Kubernetes    map[string]string `json:"kubernetes"`
			SNAT          bool              `json:"snat"`
			Capabilities  map[string]bool   `json:"capabilities"`
		} `json:"plugins"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return err
	}
	if len(list.Plugins) < 2 || list.Plugins[0].Nodename == "" || !path.IsAbs(list.Plugins[0].Kubernetes["kubeconfig"]) {
		return fmt.Errorf("the plugin calico has no node name or no kubeconfig")
	}
	return nil
}

type subnet struct {
	Subnet string `json:"subnet"`
}

// unitLine is a section or a setting; an empty set of capabilities is one, too.
var unitLine = regexp.MustCompile(`^(\[[A-Z][a-z]+\]|[A-Z][A-Za-z]+=.+|CapabilityBoundingSet=)$`)

// unitFile checks that a unit has its three sections, that every line is a comment, a
// section, a setting or a continuation, and that ExecStart is an absolute path.
func unitFile(text string) error {
	for _, section := range []string{"\n[Unit]\n", "\n[Service]\n", "\n[Install]\n"} {
		if strings.Count("\n"+text, section) != 1 {
			return fmt.Errorf("not exactly one section %q", strings.TrimSpace(section))
		}
	}
	joined := strings.ReplaceAll(text, "\\\n", "")
	for line := range strings.Lines(joined) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") && !unitLine.MatchString(line) {
			return fmt.Errorf("line %q is neither a comment nor a setting", line)
		}
	}
	if !regexp.MustCompile(`(?m)^ExecStart=/`).MatchString(joined) {
		return fmt.Errorf("no ExecStart with an absolute path")
	}
	return nil
}

// interfaceFile checks a file of systemd-networkd for interfaces that it leaves alone (systemd.network(5)).
func interfaceFile(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "#"), line == "[Match]", line == "[Link]", key == "Unmanaged" && value == "yes":
		case key == "Name" && value != "" && !slices.Contains(strings.Fields(value), "*"):
		default:
			return fmt.Errorf("line %q is neither a comment nor a known setting", line)
		}
	}
	return nil
}

func environment(text string) error {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !strings.HasPrefix(line, "#") && (!ok || key != strings.ToUpper(key) || value == "") {
			return fmt.Errorf("line %q is not a variable with a value", line)
		}
	}
	return nil
}

// balanced checks the braces of files for nginx, HAProxy, BIRD and nftables, which check
// their files themselves on the host.
func balanced(text string) error {
	depth := 0
	for i, line := range strings.Split(text, "\n") {
		code, _, _ := strings.Cut(line, "#")
		depth += strings.Count(code, "{") - strings.Count(code, "}")
		if depth < 0 {
			return fmt.Errorf("line %d closes a brace that is not open", i+1)
		}
	}
	if depth != 0 {
		return fmt.Errorf("%d braces are not closed", depth)
	}
	return nil
}
