package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/sources"
)

// A fate is what becomes of a flag of external-dns.
type fate uint8

const (
	// honoured: a flag of ours has the name and does the same.
	honoured fate = iota
	// settled: the flag asks for what is so anyway.
	settled
	// refused: the flag can't be honoured, and starting without it would serve
	// something else than what was asked for.
	refused
)

// An externalFlag is one flag of external-dns v0.23.0.
type externalFlag struct {
	name  string
	takes grammar
	words []string // all values that it may have; nil for any
	fate  fate
	// why says in a sentence without capital and final stop what becomes of the
	// flag, and where it is refused, what to use instead. The page
	// docs/migrating-from-external-dns.md prints it.
	why string
}

// An externalGroup is a heading of the page, with the flags below it.
type externalGroup struct {
	title string
	flags []externalFlag
}

// externalGroups are all flags of external-dns: what the program does with
// them and what the page says of them come from here.
func externalGroups() []externalGroup {
	return []externalGroup{
		{"Connection, loop and log", connectionFlags()},
		{"Which objects", objectFlags()},
		{"Names and targets", nameFlags()},
		{"Records in a cloud, and who owns them", mirrorFlags()},
		{"Providers with a mirror", providerFlags()},
		{"Other providers and registries", otherProviderFlags()},
	}
}

// externalFlags are the flags of external-dns that a command has no flag of its
// own for. They are hidden: the page, not --help, lists them.
type externalFlags struct {
	serves bool // the command is serve
	flags  []*externalValue
}

// add defines the flags that the command doesn't have yet: call it last.
func (e *externalFlags) add(cmd *cobra.Command) {
	e.serves = cmd.Name() == "serve"
	set := cmd.Flags()
	for _, group := range externalGroups() {
		for _, flag := range group.flags {
			if set.Lookup(flag.name) != nil {
				continue
			}
			value := &externalValue{flag: flag}
			e.flags = append(e.flags, value)
			if flag.takes == manyTexts {
				set.VarPF((*externalList)(value), flag.name, "", flag.reason()).Hidden = true
				continue
			}
			f := set.VarPF(value, flag.name, "", flag.reason())
			f.Hidden = true
			if flag.takes == onOff {
				f.NoOptDefVal = "true"
				no := set.VarPF((*externalOpposite)(value), "no-"+flag.name, "", "the opposite of --"+flag.name)
				no.Hidden, no.NoOptDefVal = true, "true"
			}
		}
	}
}

// last returns the value that was given last for a flag; given is false where
// it was not.
func (e *externalFlags) last(name string) (value string, given bool) {
	for _, v := range e.flags {
		if v.flag.name == name && len(v.given) > 0 {
			return v.given[len(v.given)-1], true
		}
	}
	return "", false
}

// apply puts what is honoured under another form than external-dns' own into
// the settings, after it refused what can't be honoured.
func (e *externalFlags) apply(s *objectSettings) error {
	if err := e.check(s.source.Sources); err != nil {
		return err
	}
	if provider, given := e.last("provider"); given {
		s.source.Provider = provider
	}
	if text, given := e.last("kube-api-request-timeout"); given {
		var timeout seconds
		if err := timeout.Set(text); err != nil {
			return fmt.Errorf("--kube-api-request-timeout can't be %q: %w", text, err)
		}
		s.origin.timeout = time.Duration(timeout)
	}
	// Without a prefix of the user's choice both are read anyway.
	if legacy, _ := e.last("enable-legacy-annotation-prefix"); legacy == "true" && len(s.source.AnnotationPrefixes) > 0 {
		s.source.AnnotationPrefixes = append(s.source.AnnotationPrefixes, legacyPrefix)
	}
	return nil
}

// legacyPrefix is what external-dns' annotations had before v0.22.
const legacyPrefix = "external-dns.alpha.kubernetes.io/"

// check returns one error for everything of external-dns that was asked for
// and can't be honoured.
func (e *externalFlags) check(wanted []string) error {
	var faults []string
	for _, v := range e.flags {
		if v.refused(e.serves) {
			faults = append(faults, fmt.Sprintf("--%s: %s", v.flag.name, v.flag.reason()))
		}
	}
	if name, given := e.last("provider"); given && name != "" {
		if err := checkProvider(name); err != nil {
			faults = append(faults, err.Error())
		}
	}
	for _, value := range wanted {
		for source := range strings.SplitSeq(value, ",") {
			if why := otherSources()[strings.TrimSpace(source)]; why != "" {
				faults = append(faults, fmt.Sprintf("--source=%s: %s", strings.TrimSpace(source), why))
			}
		}
	}
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return errors.New(faults[0])
	}
	return errors.New("these flags can't be honoured:\n  " + strings.Join(faults, "\n  "))
}

func checkProvider(name string) error {
	if slices.Contains(mirrorProviders(), name) {
		return nil
	}
	if slices.Contains(otherProviders(), name) {
		return fmt.Errorf("--provider=%s: clusterzone mirrors to %s only; leave --provider and its flags out here, and keep external-dns for %s",
			name, strings.Join(mirrorProviders(), ", "), name)
	}
	return fmt.Errorf("--provider=%s is no provider; %s", name, sources.Suggest(name, append(mirrorProviders(), otherProviders()...)))
}

// report logs what was accepted without effect: one line for what is so anyway, and
// one for each switch that turns off what can't be.
func (e *externalFlags) report(log *slog.Logger) {
	var anyway []string
	for _, v := range e.flags {
		switch {
		case len(v.given) == 0:
		case v.flag.fate == settled && v.off():
			log.Warn("a flag of external-dns that has no effect", "flag", v.String(), "why", v.flag.reason())
		case v.flag.fate == settled || v.flag.fate == refused:
			anyway = append(anyway, v.String())
		}
	}
	if len(anyway) > 0 {
		log.Info("flags of external-dns that ask for what is so anyway", "flags", strings.Join(anyway, " "))
	}
}

// externalEnvironment returns one warning for all variables of external-dns that are
// set, or "": they are not read, since a Pod may well have both programs'.
func externalEnvironment(lookup func(string) (string, bool)) string {
	var found []string
	for _, group := range externalGroups() {
		for _, flag := range group.flags {
			name := strings.ToUpper(strings.ReplaceAll(flag.name, "-", "_"))
			if _, set := lookup("EXTERNAL_DNS_" + name); set {
				found = append(found, fmt.Sprintf("EXTERNAL_DNS_%s (write %s%s)", name, envPrefix, name))
			}
		}
	}
	return strings.Join(found, ", ")
}
