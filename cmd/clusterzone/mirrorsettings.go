package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// mirrorSettings say what one mirror writes where: as flags, or as one of mirrors
// in the config file.
type mirrorSettings struct {
	name                     string // "" is the provider's
	provider                 string // "" for no mirror
	policy, registry         string
	owner, migrateFrom       string
	prefix, suffix, wildcard string
	encrypt                  bool
	key                      string // a secret
	interval, pushEvery      time.Duration
	zoneNames, zoneIDs       []string
	dryRun                   bool
	batchSize                int
	batchPause               time.Duration
	guards                   guardSettings
	protect, adopt           []string
	claim, singleAlias       bool
	acknowledged             string // the mark of settings that an operator has approved

	// Those of the items of a list alone; a mirror by flags has the program's.
	domains, exclude    []string
	types, excludeTypes []string

	clouds map[string]cloudSettings // of every provider, by name
}

// guardSettings are the bounds of what may be deleted.
type guardSettings struct {
	maxDeletes  int
	maxPercent  int
	deleteAfter time.Duration
	holdAwaited time.Duration
	allowEmpty  []string
}

// define adds the flags of one mirror to a set.
func (m *mirrorSettings) define(set *pflag.FlagSet, kinds []cloudKind) {
	f := flags{set, groupMirror}
	f.text(&m.provider, "provider", "", "`cloud` that gets a copy of the records, under ownership that external-dns knows: "+strings.Join(kindNames(kinds), ", ")+" (default: none)")
	f.text(&m.policy, "policy", "", "what may be changed in the cloud: `policy` upsert-only (the default), sync (deletes too) or create-only")
	f.text(&m.registry, "registry", "txt", "where ownership stands: `registry` txt (TXT records, as external-dns writes them) or noop (nowhere: every record counts as this instance's)")
	f.text(&m.owner, "txt-owner-id", "default", "`name` of this instance in ownership records; no other instance may have it, and sync needs one of its own")
	f.text(&m.migrateFrom, "migrate-from-txt-owner", "", "`name` of an owner whose records become this one's where they are asked for; none of them is deleted")
	f.text(&m.prefix, "txt-prefix", "", "`text` before the names of ownership records; %{record_type} in it stands for the type")
	f.text(&m.suffix, "txt-suffix", "", "`text` after the first label of the names of ownership records, in place of --txt-prefix")
	f.text(&m.wildcard, "txt-wildcard-replacement", "", "`text` for the asterisk in the names of ownership records")
	f.yes(&m.encrypt, "txt-encrypt-enabled", false, "encrypt ownership records with --txt-encrypt-aes-key")
	f.text(&m.key, "txt-encrypt-aes-key", "", "`key` of 32 octets, or these in base64; it is never logged, but give it by environment or config file")
	f.duration(&m.interval, "interval", time.Minute, "time between two complete comparisons with the cloud; changes are pushed as they come")
	f.duration(&m.pushEvery, "min-event-sync-interval", 5*time.Second, "least time between two pushes of changes to the cloud")
	f.list(&m.zoneNames, "zone-name-filter", "write to zones of the cloud whose name is in this `domain` only; repeatable")
	f.list(&m.zoneIDs, "zone-id-filter", "write to zones of the cloud whose ID ends in this `text` only; repeatable")
	f.yes(&m.dryRun, "dry-run", false, "compare with the cloud, and write nothing to it; \"clusterzone plan\" prints what would be written")
	f.number(&m.batchSize, "batch-change-size", 0, "`number` of changes in one request to the cloud at most (default: what its API takes)")
	f.duration(&m.batchPause, "batch-change-interval", 0, "time between two requests that write to one zone of the cloud (default: what its API needs)")
	f.number(&m.guards.maxPercent, "mirror-max-delete-percent", 30, "`share` of a zone's own records that one comparison may delete, from ten records on; above it none is")
	f.number(&m.guards.maxDeletes, "mirror-max-deletes", 100, "`number` of records of a zone that one comparison may delete; above it none is")
	f.duration(&m.guards.deleteAfter, "mirror-delete-after", 5*time.Minute, "how long nothing must have asked for a record before it is deleted")
	f.duration(&m.guards.holdAwaited, "mirror-hold-awaited", 24*time.Hour, "how long a record stays while an object asks for its name and has no address")
	f.list(&m.guards.allowEmpty, "mirror-allow-empty", "`zone` of the cloud, by name or ID, that may lose all of its records; repeatable")
	f.list(&m.protect, "mirror-protect", "never write to names in this `domain`; repeatable")
	f.list(&m.adopt, "mirror-adopt", "take over records in this `domain` that have no owner and are already as wished; repeatable")
	f.yes(&m.claim, "mirror-claim-dangling", false, "take over names where others have left an ownership record and no record")
	f.yes(&m.singleAlias, "mirror-single-alias", false, "write one ownership record for an alias, as external-dns does from v0.22 on; else also that of versions before")
	f.text(&m.acknowledged, "mirror-acknowledge", "", "the `mark` that a message asks for, after settings have changed that decide which records are this mirror's: deletions go on")
	m.clouds = map[string]cloudSettings{}
	for _, kind := range kinds {
		cloud := kind.settings()
		cloud.add(flags{set, groupCloud})
		m.clouds[kind.name] = cloud
	}
}

// defineItem adds what an item of a list has beside.
func (m *mirrorSettings) defineItem(set *pflag.FlagSet) {
	f := flags{set, groupMirror}
	f.text(&m.name, "name", "", "")
	f.list(&m.domains, "domain-filter", "")
	f.list(&m.exclude, "exclude-domains", "")
	f.list(&m.types, "managed-record-types", "")
	f.list(&m.excludeTypes, "exclude-record-types", "")
}

// mirrorsSettings are all mirrors of a process.
type mirrorsSettings struct {
	one            mirrorSettings
	list           mirrorList
	kinds          []cloudKind
	lease          bool
	leaseNamespace string
	emit           []string
	flags          *pflag.FlagSet      // of the command
	getenv         func(string) string // for credentials; nil is os.Getenv
}

// add defines the flags; those of a running process where runs is set.
func (s *mirrorsSettings) add(cmd *cobra.Command, runs bool) {
	if s.kinds == nil {
		s.kinds = cloudKinds()
	}
	s.flags = cmd.Flags()
	s.one.define(s.flags, s.kinds)
	f := flagsOf(cmd, groupMirror)
	s.list.kinds = s.kinds
	f.set.Var(&s.list, "mirrors", "several mirrors, as a `list` in YAML; in the config file mirrors: [{name: public, provider: aws, txt-owner-id: one}], with the names of these flags as keys")
	f.done("mirrors")
	if runs {
		s.addLeases(f)
		f.list(&s.emit, "events-emit", "also write Kubernetes events of this `kind` on objects whose records were written to a cloud: RecordReady, RecordDeleted, RecordError; repeatable")
	}
}

// addLeases defines the flags that say what stands in the cluster about mirrors.
func (s *mirrorsSettings) addLeases(f flags) {
	f.yes(&s.lease, "mirror-lease", true, "let one of several processes write to the cloud, by a Lease of the cluster; without a cluster there is none")
	f.text(&s.leaseNamespace, "mirror-lease-namespace", "", "`namespace` of the Leases (default: that of the Pod, or of the kubeconfig's context)")
}

// chosen returns the mirrors that are asked for; none is no error.
func (s *mirrorsSettings) chosen() ([]*mirrorSettings, error) {
	if len(s.list.items) > 0 && s.one.provider != "" {
		return nil, fmt.Errorf("--provider=%s and mirrors exclude each other: write the one mirror of the flags into the list", s.one.provider)
	}
	for _, kind := range s.emit {
		if !slices.Contains(emitted(), kind) {
			return nil, fmt.Errorf("--events-emit=%s is no kind of event; %s", kind, sources.Suggest(kind, emitted()))
		}
	}
	if s.one.provider == "" && len(s.list.items) == 0 {
		if s.one.dryRun {
			return nil, errors.New("--dry-run is about what a mirror writes to a cloud, and --provider names none; \"clusterzone records\" prints what would be served")
		}
		return nil, nil
	}
	if s.one.provider != "" {
		if s.one.clouds[s.one.provider] == nil {
			return nil, checkProvider(s.one.provider)
		}
		s.one.name = s.one.provider
		return []*mirrorSettings{&s.one}, nil
	}
	names := map[string]bool{}
	for _, item := range s.list.items {
		if names[item.name] {
			return nil, fmt.Errorf("two of mirrors are called %s; give each a name of its own", item.name)
		}
		names[item.name] = true
	}
	return s.list.items, nil
}

// mirrorList is the flag --mirrors and the key of the config file.
type mirrorList struct {
	kinds []cloudKind
	items []*mirrorSettings
}

// Set implements pflag.Value.
func (l *mirrorList) Set(text string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || document.Kind == 0 {
		return errors.New("write a list in YAML, like [{name: public, provider: aws, txt-owner-id: one}]")
	}
	return l.SetNode(document.Content[0])
}

// String implements pflag.Value. The items may hold secrets.
func (l *mirrorList) String() string { return "" }

// Type implements pflag.Value.
func (l *mirrorList) Type() string { return "yaml" }

// SetNode reads the list; the error of an item has its line.
func (l *mirrorList) SetNode(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return errors.New("write mirrors as a list of mappings, like [{name: public, provider: aws, txt-owner-id: one}]")
	}
	l.items = nil
	for _, item := range node.Content {
		m, err := l.item(item)
		if err != nil {
			return err
		}
		l.items = append(l.items, m)
	}
	return nil
}

func (l *mirrorList) item(node *yaml.Node) (*mirrorSettings, error) {
	if node.Kind != yaml.MappingNode {
		return nil, lineError{node.Line, errors.New("a mirror is a mapping, like {name: public, provider: aws, txt-owner-id: one}")}
	}
	m := &mirrorSettings{}
	set := pflag.NewFlagSet("mirrors", pflag.ContinueOnError)
	m.define(set, l.kinds)
	m.defineItem(set)
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		f := set.Lookup(key.Value)
		if f == nil || opposes(f) {
			return nil, lineError{key.Line, fmt.Errorf("%s is no setting of a mirror; %s", key.Value, nearKey(key.Value, settable(set)))}
		}
		if seen[key.Value] {
			return nil, lineError{key.Line, fmt.Errorf("%s stands twice in one mirror; write it once", key.Value)}
		}
		seen[key.Value] = true
		values, err := scalars(value)
		if err == nil {
			err = setFlag(f, values)
		}
		if err != nil {
			return nil, lineError{value.Line, err}
		}
	}
	if m.provider == "" {
		return nil, lineError{node.Line, fmt.Errorf("a mirror needs a provider: %s", strings.Join(kindNames(l.kinds), ", "))}
	}
	if m.clouds[m.provider] == nil {
		return nil, lineError{node.Line, fmt.Errorf("provider %s has no mirror; %s", m.provider, sources.Suggest(m.provider, kindNames(l.kinds)))}
	}
	if m.name == "" {
		m.name = m.provider
	}
	return m, nil
}

// settable are the names of a set's flags that the config file may have.
func settable(set *pflag.FlagSet) map[string]bool {
	names := map[string]bool{}
	set.VisitAll(func(f *pflag.Flag) {
		if !opposes(f) {
			names[f.Name] = true
		}
	})
	return names
}

// idle are the flags of a mirror that were given, by name: values may be secrets.
func (s *mirrorsSettings) idle() (names []string) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if groups := f.Annotations[group]; f.Changed && len(groups) == 1 && (groups[0] == groupMirror || groups[0] == groupCloud) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// prepare checks the choice of mirrors, and puts what it means for the objects into
// their settings. It says at level which flags have no effect.
func (s *mirrorsSettings) prepare(log *slog.Logger, level slog.Level, objects *objectSettings) error {
	if _, err := s.chosen(); err != nil {
		return err
	}
	var names []string
	for _, item := range s.list.items {
		names = append(names, item.provider)
	}
	if s.one.provider != "" {
		names = append(names, s.one.provider)
	}
	if _, err := mirror.ParsePolicy(s.one.policy); err != nil {
		return err
	}
	if err := s.one.checkRegistry(); err != nil {
		return err
	}
	if idle := s.idle(); len(names) == 0 && len(idle) > 0 {
		log.Log(context.Background(), level, "flags of a mirror that have no effect, since --provider names no cloud", "flags", strings.Join(idle, " "))
	}
	slices.Sort(names)
	objects.source.Provider = strings.Join(slices.Compact(names), ",")
	return nil
}
