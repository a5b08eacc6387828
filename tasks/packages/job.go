package packages

import (
	"cmp"
	"slices"
)

// job is one operation on one package.
type job struct {
	verb    string // install, upgrade or remove
	name    string
	version string // wanted; empty for any
	have    string // installed version, for messages
	file    string // install this file
	purge   bool
}

// action describes the job as an effect.
func (j job) action() string {
	switch {
	case j.verb == "remove" && j.purge:
		return "remove with its configuration"
	case j.verb == "remove":
		return "remove"
	case j.have != "":
		return j.have + " -> " + cmp.Or(j.version, "newest version")
	case j.version != "":
		return "install " + j.version
	}
	return "install"
}

func targets(jobs []job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.name)
	}
	return out
}

// sorted groups jobs by verb.
func sorted(jobs []job) (install, upgrade, remove []job) {
	for _, j := range jobs {
		switch j.verb {
		case "install":
			install = append(install, j)
		case "upgrade":
			upgrade = append(upgrade, j)
		case "remove":
			remove = append(remove, j)
		}
	}
	return install, upgrade, remove
}

// inOrder sorts jobs by name and removes duplicates.
func inOrder(jobs []job) []job {
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(jobs, func(a, b job) bool { return a == b })
}

func toInstall(wants []want, installed versions) []job {
	var out []job
	for _, w := range wants {
		if w.met(installed) == "" {
			name := w.choices[0]
			out = append(out, job{verb: "install", name: name, version: w.version, have: installed[name].shown(), file: w.file})
		}
	}
	return inOrder(out)
}

// toUpgrade returns the jobs for state latest; packages that are missing are installed.
func toUpgrade(wants []want, installed versions, newer map[string]string) []job {
	out := toInstall(wants, installed)
	for _, w := range wants {
		name := w.met(installed)
		if version, ok := newer[name]; ok && w.file == "" {
			out = append(out, job{verb: "upgrade", name: name, version: version, have: installed[name].shown()})
		}
	}
	return inOrder(out)
}

// toUpgradeAll returns the jobs for every package with a newer version.
func toUpgradeAll(installed versions, newer map[string]string) []job {
	var out []job
	for name, version := range newer {
		out = append(out, job{verb: "upgrade", name: name, version: version, have: installed[name].shown()})
	}
	return inOrder(out)
}

func toRemove(wants []want, installed versions, purge bool) []job {
	var out []job
	for _, w := range wants {
		for _, one := range w.choices {
			there := installed.has(one) && !installed[one].virtual && (w.version == "" || installed[one].is(w.version))
			if there || purge && installed[one].leftovers {
				out = append(out, job{verb: "remove", name: one, purge: purge})
			}
		}
	}
	return inOrder(out)
}
