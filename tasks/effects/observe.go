package effects

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/tasks/resolver"
	"deployer/tasks/staticpod"
)

const (
	manifestsDir    = "/etc/kubernetes/manifests"
	cniDir          = "/etc/cni/net.d"
	kubeletFile     = "/var/lib/kubelet/config.yaml"
	nodeDNSManifest = manifestsDir + "/node-dns.yaml"
	// maxFile is the maximum size of a file that is parsed, in bytes.
	maxFile = 1 << 20
)

func (c *Checks) observe(ctx context.Context, sys engine.System) Observation {
	found := Observation{
		Pods: c.observePods(ctx, sys), Manifests: staticpod.ManifestFiles(sys, manifestsDir),
		Settings: settings(sys), Live: live(sys, c.Settings),
	}
	found.Servers, found.MissingServersFile = nameServers(sys)
	if c.CNI != "" {
		found.CNI = cniFiles(sys)
	}
	if c.Rules {
		for _, family := range c.families() {
			if found.RulesError == "" {
				found.RulesError = rulesError(ctx, sys, map[string]string{"ipv4": "ip", "ipv6": "ip6"}[family])
			}
		}
	}
	if c.Services != "" {
		found.ServiceRulesMissing = serviceRulesMissing(ctx, sys, c.Services, c.families())
	}
	if c.CNI != "" {
		found.Egress = c.observeEgress(ctx, sys, found.Servers)
	}
	found.Routers = c.observeRouters(ctx, sys)
	if _, err := os.Stat(sys.Path(nodeDNSManifest)); c.DNSCache != "" && err == nil {
		found.CacheUsers, _ = staticpod.PodsWithServer(ctx, sys, c.DNSCache)
	}
	if !c.Servers {
		return found
	}
	// Pods that run are not compared when containerd does not answer; its unit has a row.
	found.PodServers, _ = staticpod.NameServers(ctx, sys, "kube-system", "kube-dns")
	return found
}

func (c *Checks) observePods(ctx context.Context, sys engine.System) []StaticPod {
	var out []StaticPod
	for _, file := range c.StaticPods {
		pod := StaticPod{File: file}
		if err := staticpod.Problem(ctx, sys, filepath.Join(manifestsDir, file)); err != nil {
			pod.Problem = err.Error()
		}
		out = append(out, pod)
	}
	return out
}

// cniFiles returns the CNI configurations in the order in which containerd considers them (libcni,
// ConfFiles: these suffixes, sorted by name).
func cniFiles(sys engine.System) []CNIFile {
	var out []CNIFile
	for _, name := range names(sys, cniDir) {
		if !slices.Contains([]string{".conf", ".conflist", ".json"}, filepath.Ext(name)) {
			continue
		}
		var conf struct {
			Type    string
			Plugins []struct{ Type string }
		}
		if data, ok := readSmall(sys, filepath.Join(cniDir, name)); ok {
			_ = json.Unmarshal(data, &conf) // containerd skips a file that cannot be parsed
		}
		if len(conf.Plugins) > 0 {
			conf.Type = conf.Plugins[0].Type
		}
		out = append(out, CNIFile{Name: name, Type: conf.Type})
	}
	return out
}

func (c *Checks) families() []string {
	if len(c.Families) == 0 {
		return []string{"ipv4"}
	}
	return c.Families
}

// rulesError looks at the table of a family itself, and not at the unit that has loaded it.
func rulesError(ctx context.Context, sys engine.System, family string) string {
	r, err := sys.Run(ctx, engine.Command{Argv: []string{"nft", "list", "table", family, "deployer_pods"}})
	switch {
	case err != nil:
		return err.Error()
	case r.Exit != 0:
		return "table " + family + " deployer_pods is not loaded"
	case !strings.Contains(r.Stdout, "masquerade"):
		return "table " + family + " deployer_pods has no rule that gives packets of pods the address of the node"
	}
	return ""
}

// nameServers returns the name servers of the file that the kubelet's configuration names, or the
// file's path when it does not exist. An empty path is a kubelet that needs no file.
func nameServers(sys engine.System) (servers []string, missing string) {
	conf := struct {
		ResolvConf string `yaml:"resolvConf" rule:"text"`
	}{resolver.HostFile}
	if data, ok := readSmall(sys, kubeletFile); ok {
		_ = yaml.Unmarshal(data, &conf)
	}
	if conf.ResolvConf == "" {
		return nil, ""
	}
	servers, exists := resolver.Servers(sys, conf.ResolvConf)
	if !exists {
		return nil, conf.ResolvConf
	}
	return servers, ""
}

// names returns the entries of a directory, sorted; none when it cannot be read.
func names(sys engine.System, dir string) []string {
	entries, _ := os.ReadDir(sys.Path(dir))
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// readSmall returns the content of a regular file of at most maxFile bytes.
func readSmall(sys engine.System, path string) ([]byte, bool) {
	info, err := os.Stat(sys.Path(path))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, false
	}
	data, err := os.ReadFile(sys.Path(path))
	return data, err == nil
}
