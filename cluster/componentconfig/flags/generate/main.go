// Command generate writes the table of the flags of one component as `COMPONENT --help`
// lists them: one flag per line, followed by "deprecated" where the help says so. With the
// argument gates it writes the table of the feature gates of one version of Kubernetes, one
// name per line, from the sources, because no program lists all of them. With the argument
// types it writes the types of the flags of a program that declares them with package flag,
// as etcd does: one flag per line and its type, such as int64; other flags take any text. With
// help-types it writes the same of a program of Kubernetes, whose --help lists the types.
//
//	go run ./cluster/componentconfig/flags/generate PROGRAM > cluster/componentconfig/flags/kubelet-v1.36.txt
//	cd $(go env GOMODCACHE)/k8s.io
//	generate gates kubernetes@v1.36.3/pkg/features *@v0.36.3 > .../flags/feature-gates-v1.36.txt
//	generate help-types PROGRAM > .../flags/kubelet-v1.36-types.txt
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
	lines := flags
	if len(os.Args) == 3 && os.Args[1] == "help-types" {
		lines = helpTypes
	} else if len(os.Args) != 2 {
		log.Fatal("name one program, such as kubelet; or help-types and a program; or gates, or types, and directories of sources")
	}
	program := os.Args[len(os.Args)-1]
	help, err := exec.Command(program, "--help").CombinedOutput()
	if err != nil && len(help) == 0 {
		log.Fatalf("running %s --help: %v", program, err)
	}
	if _, err := os.Stdout.WriteString(strings.Join(lines(help), "\n") + "\n"); err != nil {
		log.Fatal(err)
	}
}

// helpType is a flag with its type in a help text. The flag of a boolean has none.
var helpType = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([a-zA-Z0-9][-.\w]*)(?: (\S+))?  `)

// helpTypes returns the flags whose values are no texts, with their types.
func helpTypes(help []byte) []string {
	var out []string
	for _, m := range helpType.FindAllSubmatch(help, -1) {
		switch kind := string(m[2]); kind {
		case "":
			out = append(out, string(m[1])+" bool")
		case "duration", "int", "int32", "int64", "uint", "uint32", "uint64", "float":
			out = append(out, string(m[1])+" "+kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
