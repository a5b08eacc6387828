// Command generate writes the table of the flags of one component as `COMPONENT --help`
// lists them: one flag per line, followed by "deprecated" where the help says so. With the
// argument gates it writes the table of the feature gates of one version of Kubernetes, one
// name per line, from the sources, because no program lists all of them. With the argument
// types it writes the types of the flags of a program that declares them with package flag,
// as etcd does: one flag per line and its type, such as int64; other flags take any text.
//
//	go run ./cluster/componentconfig/flags/generate PROGRAM > cluster/componentconfig/flags/kubelet-v1.36.txt
//	cd $(go env GOMODCACHE)/k8s.io
//	generate gates kubernetes@v1.36.3/pkg/features *@v0.36.3 > .../flags/feature-gates-v1.36.txt
//	generate types ../go.etcd.io/etcd/server/v3@v3.6.8/embed > .../flags/etcd-v3.6-types.txt
package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "gates" {
		write(gate, os.Args[2:], func(m [][]byte) string { return string(m[1]) })
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "types" {
		write(typed, os.Args[2:], func(m [][]byte) string {
			return string(m[2]) + string(m[4]) + " " + strings.ToLower(string(m[1])+string(m[3]))
		})
		return
	}
	if len(os.Args) != 2 {
		log.Fatal("name one program, such as kubelet; or gates, or types, and directories of sources")
	}
	help, err := exec.Command(os.Args[1], "--help").CombinedOutput()
	if err != nil && len(help) == 0 {
		log.Fatalf("running %s --help: %v", os.Args[1], err)
	}
	if _, err := os.Stdout.WriteString(strings.Join(flags(help), "\n") + "\n"); err != nil {
		log.Fatal(err)
	}
}

// gate is the declaration of a feature gate (k8s.io/component-base/featuregate, and
// k8s.io/client-go/features).
var gate = regexp.MustCompile(`\b(?:featuregate\.)?Feature\s+= "([A-Za-z0-9]+)"`)

// typed is the declaration of a flag whose value is no text: by package flag, or by
// go.etcd.io/etcd/pkg/v3/flags.
var typed = regexp.MustCompile(`\bfs\.(Bool|Duration|Int|Int64|Uint|Uint64)Var\([^,]+, "([^"]+)"|\bfs\.Var\(flags\.New(Uint32)Value\([^)]*\), "([^"]+)"`)

// write writes a line for each match of a declaration in the sources of directories, sorted.
func write(declaration *regexp.Regexp, dirs []string, line func([][]byte) string) {
	found := map[string]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range declaration.FindAllSubmatch(text, -1) {
				found[line(m)] = true
			}
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	if _, err := os.Stdout.WriteString(strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"); err != nil {
		log.Fatal(err)
	}
}

var flag = regexp.MustCompile(`^\s*(?:-\w, )?--([a-zA-Z0-9][-.\w]*)`)

// deprecated matches the mark of a deprecated flag in a help text, and not that of a value.
var deprecated = regexp.MustCompile(`DEPRECATED|Deprecated[ .:]|[Dd]eprecated (in|and)`)

// flags returns the flags at the beginning of lines of a help text. The text of a flag may
// continue on the lines below.
func flags(help []byte) []string {
	found := map[string]string{}
	last := ""
	for lines := bufio.NewScanner(bytes.NewReader(help)); lines.Scan(); {
		if m := flag.FindStringSubmatch(lines.Text()); m != nil {
			last = m[1]
			found[last] = last
		}
		if last != "" && deprecated.MatchString(lines.Text()) {
			found[last] = last + " deprecated"
		}
	}
	var out []string
	for _, line := range found {
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}
