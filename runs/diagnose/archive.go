package diagnose

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"deployer/cluster"
	"deployer/engine"
	"deployer/runs/diagnose/rules"
	"deployer/runs/diagnose/scrub"
	"deployer/tasks/control/report"
)

// Site has the facts about the cluster that are known before the run.
type Site struct {
	Cluster *cluster.Cluster
	Version string // of deployer
	// Name of the directory in the archive.
	Name string
	// Started is the begin of the run.
	Started time.Time
}

// Formats are the ends of names of archives, by which their compression is chosen.
var Formats = []string{".tar.zst", ".tar.gz", ".tgz"}

// compressor returns a writer that compresses as the name of the archive says.
func compressor(w io.Writer, file string) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(file, ".tar.zst"):
		return zstd.NewWriter(w)
	case strings.HasSuffix(file, ".tar.gz"), strings.HasSuffix(file, ".tgz"):
		return gzip.NewWriter(w), nil
	}
	return nil, fmt.Errorf("%s: the name of the archive must end in %s", file, strings.Join(Formats, ", "))
}

// Write examines the collected data, writes the archive to w and returns the
// findings, the worst first. file is the name of the archive, whose end decides about
// the compression. No event may come later.
func (c *Collector) Write(w io.Writer, file string, s Site, r *engine.Report) ([]rules.Finding, error) {
	if err := c.finish(); err != nil {
		return nil, err
	}
	findings, err := c.examine(s, r)
	if err != nil {
		return nil, err
	}
	packed, err := compressor(w, file)
	if err != nil {
		return nil, err
	}
	a := archive{tar.NewWriter(packed), s}
	if err := c.writeFiles(a, findings, r); err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	if err := a.Close(); err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	if err := packed.Close(); err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	return findings, nil
}

// examine applies the rules to one host after another.
func (c *Collector) examine(s Site, r *engine.Report) ([]rules.Finding, error) {
	findings := rules.FromRows(c.rows)
	for _, h := range r.Hosts {
		host, err := c.ruleHost(s, h)
		if err != nil {
			return nil, err
		}
		findings = append(findings, rules.Examine(host)...)
	}
	rules.Sort(findings)
	return findings, nil
}

// ruleHost returns the data of a host for the rules.
func (c *Collector) ruleHost(s Site, h engine.HostReport) (rules.Host, error) {
	state := c.host(h.Host)
	out := rules.Host{Name: h.Host, Connected: state.connected, Versions: state.versions, Failures: state.failures}
	if h.Unreachable && h.Failure != nil {
		out.Unreachable = scrub.Text(h.Failure.Message)
	}
	if n, ok := s.Cluster.Nodes[h.Host]; ok {
		out.Units, out.Wanted = n.Units, wantedVersions(n.Versions)
	}
	var err error
	out.Files, err = c.read(h.Host)
	return out, err
}

// wantedVersions returns the versions of the inventory by program, as component_versions
// names them.
func wantedVersions(v cluster.NodeVersions) map[string]string {
	return map[string]string{
		"kube-apiserver": v.APIServer, "kube-controller-manager": v.ControllerManager, "kube-scheduler": v.Scheduler,
		"kubelet": v.Kubelet, "kube-proxy": v.KubeProxy, "containerd": v.Containerd, "etcd": v.Etcd,
	}
}

// archive is a tar archive whose files have one directory.
type archive struct {
	*tar.Writer
	site Site
}

func (a archive) add(name, text string) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: a.site.Name + "/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: a.site.Started.Truncate(time.Second), Format: tar.FormatPAX}
	if err := a.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.WriteString(a, text)
	return err
}

// writeFiles writes the first page, the findings and the files of all hosts.
func (c *Collector) writeFiles(a archive, findings []rules.Finding, r *engine.Report) error {
	if err := a.add("README.md", Page(a.site, r, findings)); err != nil {
		return err
	}
	if findings == nil {
		findings = []rules.Finding{}
	}
	if err := a.addJSON("findings.json", findings); err != nil {
		return err
	}
	if err := a.addJSON("cluster-checks.json", rowsOf(c.rows, "")); err != nil {
		return err
	}
	for _, h := range r.Hosts {
		if err := c.writeHost(a, h.Host); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collector) writeHost(a archive, host string) error {
	dir, state := "hosts/"+host+"/", c.host(host)
	files, err := c.read(host)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := a.add(dir+name, files[name].Text); err != nil {
			return err
		}
	}
	for name, v := range map[string]any{"checks.json": rowsOf(c.rows, host), "versions.json": state.versions, "certificates.json": state.certificates} {
		if err := a.addJSON(dir+name, v); err != nil {
			return err
		}
	}
	return nil
}

func (a archive) addJSON(name string, v any) error {
	text, err := jsonText(v)
	if err != nil {
		return err
	}
	return a.add(name, scrub.Text(text))
}

// rowsOf returns the rows of a host; those of the cluster for an empty name.
func rowsOf(rows []report.Row, host string) []report.Row {
	out := []report.Row{}
	for _, r := range rows {
		if r.Host == host {
			out = append(out, r)
		}
	}
	return out
}
