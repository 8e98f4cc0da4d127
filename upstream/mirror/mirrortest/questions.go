package mirrortest

import (
	"context"
	"slices"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func readingQuestions() []question {
	return []question{
		{"a zone that isn't there is an error and not empty", func(s *sitting) {
			gone := mirror.Zone{ID: "no-such-zone", Name: s.name("no-such-zone")}
			if list, err := s.cloud.Provider.Records(s.Context(), gone); err == nil {
				s.Errorf("a zone that isn't there has %d records", len(list))
			}
		}},
		{"a cancelled call is an error and writes nothing", func(s *sitting) {
			ctx, cancel := context.WithCancel(s.Context())
			cancel()
			if _, err := s.cloud.Provider.Zones(ctx); err == nil {
				s.Error("zones are listed after all")
			}
			if _, err := s.cloud.Provider.Records(ctx, s.zone); err == nil {
				s.Error("records are listed after all")
			}
			r := s.addresses(1)[0]
			if s.applyWith(ctx, []mirror.Group{group(create(r))})[0].Err == nil {
				s.Error("the batch is said to be applied")
			}
			if s.at(r) != nil {
				s.Error("the record was written")
			}
		}},
		{"a listing of many pages is whole", func(s *sitting) {
			list := s.addresses(s.exam.Many)
			s.createAll(list)
			got := map[zones.Name]int{}
			for _, r := range s.records() {
				got[r.Name]++
			}
			for _, r := range list {
				if got[r.Name] != 1 {
					s.Fatalf("%s is listed %d times", r.Name, got[r.Name])
				}
			}
		}},
		{"names are read by themselves as in a listing", func(s *sitting) {
			reader, ok := s.cloud.Provider.(mirror.NameReader)
			if !ok || s.cloud.Limits.ReadNames == 0 {
				if ok || s.cloud.Limits.ReadNames > 0 {
					s.Fatal("RecordsAt and Limits.ReadNames come together or not at all")
				}
				s.Log("the provider doesn't read single names")
				return
			}
			s.createAll(s.samples())
			for _, name := range []zones.Name{s.name("web"), s.name("*.wild"), s.name("deep"), s.name("nothing")} {
				list, err := reader.RecordsAt(s.Context(), s.zone, []zones.Name{name})
				if err != nil {
					s.Fatal(err)
				}
				want := s.records()
				want = slices.DeleteFunc(want, func(r mirror.Record) bool { return r.Name != name })
				if len(list) != len(want) {
					s.Errorf("%s has %d records by itself and %d in the listing", name, len(list), len(want))
				}
				for _, r := range list {
					s.wants(r)
				}
			}
		}},
	}
}

// createAll writes records in batches within the limits.
func (s *sitting) createAll(list []mirror.Record) {
	s.Helper()
	var batch []mirror.Change
	for _, r := range list {
		for _, normal := range s.normal(r) {
			batch = append(batch, create(normal))
		}
	}
	size := 100
	if limit := s.cloud.Limits.BatchChanges; limit > 0 {
		size = min(size, limit)
	}
	for part := range slices.Chunk(batch, size) {
		s.must(part...)
	}
}

func writingQuestions() []question {
	return []question{
		{"every type reads back as it was wished", func(s *sitting) {
			s.createAll(s.samples())
			for _, r := range s.samples() {
				for _, normal := range s.normal(r) {
					s.wants(normal)
				}
			}
		}},
		{"what is special to the provider reads back as it was wished", func(s *sitting) {
			var list []mirror.Record
			for _, r := range s.exam.Wishes {
				list = append(list, s.moved(r))
			}
			s.createAll(list)
			for _, r := range list {
				for _, normal := range s.normal(r) {
					s.wants(normal)
				}
			}
		}},
		{"the normal form is its own normal form", func(s *sitting) {
			for _, r := range s.samples() {
				for _, normal := range s.normal(r) {
					again := s.normal(normal)
					if len(again) != 1 || len(mirror.Differences(&again[0], &normal)) > 0 {
						s.Errorf("%v becomes %v", normal, again)
					}
				}
			}
		}},
		{"an ownership record beside a special record has one normal form", func(s *sitting) {
			if s.cloud.Normalize == nil {
				s.Log("the cloud has no normal form of its own")
				return
			}
			for _, wish := range s.exam.Wishes {
				for _, record := range s.normal(s.moved(wish)) {
					text := s.ownership("a-" + record.Name.FirstLabel())
					text.SetIdentifier = record.SetIdentifier
					for _, option := range record.Options {
						if option.Key != mirror.OptionAlias {
							text.Options = append(text.Options, option)
						}
					}
					list, err := s.cloud.Normalize(s.zone, text)
					if err != nil || len(list) != 1 {
						s.Errorf("the ownership record of %s %s becomes %d records (%v)", record.Type, record.Name, len(list), err)
						continue
					}
					got := list[0]
					if got.Name != text.Name || got.Type != text.Type || got.SetIdentifier != text.SetIdentifier || got.TTL != text.TTL || !slices.Equal(got.Targets, text.Targets) {
						s.Errorf("%+v becomes %+v", text, got)
					}
				}
			}
		}},
		{"ownership records keep every octet and their TTL", func(s *sitting) {
			r := s.ownership("a-web")
			s.must(create(r))
			have := s.wants(r)
			if !slices.Equal(have.Targets, r.Targets) {
				s.Errorf("the text is %s, not %s", have.Targets, r.Targets)
			}
			if r.TTL.Set && have.TTL != r.TTL {
				s.Errorf("the TTL is %v, not %v", have.TTL, r.TTL)
			}
		}},
		{"targets come, go and change in place", func(s *sitting) {
			have := s.addresses(1)[0]
			have.TTL = ttl(max(600, s.cloud.Limits.MinTTL))
			s.must(create(have))
			for _, targets := range [][]string{
				{"192.0.2.1", "192.0.2.2"}, {"192.0.2.2"}, {"192.0.2.3"}, {"192.0.2.4", "192.0.2.5", "192.0.2.6"}, {"192.0.2.6", "192.0.2.7"},
			} {
				old := s.wants(have)
				next := mirror.Record{Name: old.Name, Type: old.Type, Targets: targets, TTL: have.TTL, Options: old.Options}
				s.must(mirror.Change{Verb: mirror.Update, Old: &old, New: &next})
				s.wants(next)
				have = next
			}
			old := s.wants(have)
			have.Options, have.TTL = old.Options, ttl(have.TTL.Seconds+300)
			s.must(mirror.Change{Verb: mirror.Update, Old: &old, New: &have})
			s.wants(have)
		}},
		{"what Apply gives back can be changed without a listing", func(s *sitting) {
			want := s.normal(s.addresses(1)[0])[0]
			first := s.must(create(want))[0]
			have := want
			if first.Now != nil {
				have = first.Now[0]
			}
			next := want
			next.Targets = []string{"192.0.2.77"}
			second := s.must(mirror.Change{Verb: mirror.Update, Old: &have, New: &next})[0]
			have = next
			if second.Now != nil {
				have = second.Now[0]
			}
			s.wants(next)
			s.must(remove(have))
			if s.at(next) != nil {
				s.Error("the record is still there")
			}
		}},
		{"a record of another type takes the place of one", func(s *sitting) {
			name := s.name("turn")
			addresses := s.normal(mirror.Record{Name: name, Type: zones.TypeA, Targets: []string{"192.0.2.1"}, TTL: ttl(600)})[0]
			alias := s.normal(mirror.Record{Name: name, Type: zones.TypeCNAME, Targets: []string{"lb.example.net"}, TTL: ttl(600)})[0]
			s.must(create(alias))
			for _, next := range []mirror.Record{addresses, alias} {
				other := alias
				if next.Type == alias.Type {
					other = addresses
				}
				old := s.wants(other)
				s.must(mirror.Change{Verb: mirror.Replace, Old: &old, New: &next})
				s.wants(next)
				if s.at(other) != nil {
					s.Errorf("the %s is still there", other.Type)
				}
			}
		}},
		{"writing again what is so does no harm", func(s *sitting) {
			r := s.normal(s.addresses(1)[0])[0]
			s.must(create(r))
			have := s.wants(r)
			s.harmless(s.apply(group(create(r)))[0])
			s.wants(r)
			s.must(remove(have))
			s.harmless(s.apply(group(remove(have)))[0])
			if s.at(r) != nil {
				s.Error("the record is back")
			}
		}},
		{"a create leaves what stands there alone, where the cloud allows", func(s *sitting) {
			if !s.cloud.Limits.CreateExclusive {
				s.Log("creates of this cloud add to what is there")
				return
			}
			theirs := s.normal(s.addresses(1)[0])[0]
			s.must(create(theirs))
			ours := theirs
			ours.Targets = []string{"192.0.2.200"}
			if err := s.apply(group(create(ours)))[0].Err; mirror.ClassOf(err, mirror.Unknown) != mirror.Conflict {
				s.Errorf("the create gives %v, and should give a conflict", err)
			}
			s.wants(theirs)
		}},
		{"a record that was changed meanwhile is not deleted as it was read", func(s *sitting) {
			r := s.normal(s.addresses(1)[0])[0]
			s.must(create(r))
			stale := s.wants(r)
			next := r
			next.Targets = []string{"192.0.2.88"}
			fresh := stale
			s.must(mirror.Change{Verb: mirror.Update, Old: &fresh, New: &next})
			err := s.apply(group(remove(stale)))[0].Err
			switch have := s.at(r); {
			case err == nil && have != nil:
				s.Error("the delete is said to have happened, and the record is there")
			case have == nil && s.cloud.Limits.CreateExclusive:
				s.Error("the record was deleted though it is another one")
			}
		}},
	}
}

func (s *sitting) harmless(result mirror.Result) {
	s.Helper()
	if result.Err != nil && mirror.ClassOf(result.Err, mirror.Unknown) != mirror.Conflict {
		s.Errorf("it gives %v, and should be success or a conflict", result.Err)
	}
}

func batchQuestions() []question {
	return []question{
		{"a group is written whole", func(s *sitting) {
			r := s.normal(s.addresses(1)[0])[0]
			owner := s.ownership("a-" + r.Name.FirstLabel())
			results := s.apply(group(mirror.Change{Verb: mirror.Create, New: &owner, Ownership: true}, create(r)))
			if results[0].Err != nil {
				s.Fatal(results[0].Err)
			}
			have, text := s.wants(r), s.wants(owner)
			results = s.apply(group(remove(have), mirror.Change{Verb: mirror.Delete, Old: &text, Ownership: true}))
			if results[0].Err != nil {
				s.Fatal(results[0].Err)
			}
			if s.at(r) != nil || s.at(owner) != nil {
				s.Error("a part of the group is still there")
			}
		}},
		{"a batch of the largest size is taken", func(s *sitting) {
			size := s.cloud.Limits.BatchChanges
			if size == 0 || size > 1000 {
				size = 1000
			}
			if size > s.exam.Many {
				size = s.exam.Many
			}
			var batch []mirror.Change
			for _, r := range s.addresses(size) {
				batch = append(batch, create(s.normal(r)[0]))
			}
			s.must(batch...)
			s.wants(*batch[size-1].New)
		}},
		{"one bad record among many harms itself alone", func(s *sitting) {
			if s.exam.Bad == nil {
				s.Log("the exam names no record that the cloud refuses")
				return
			}
			bad := s.normal(s.moved(*s.exam.Bad))[0]
			good := s.addresses(9)
			var batch []mirror.Group
			for i, r := range good {
				if i == 4 {
					batch = append(batch, group(create(bad)))
				}
				batch = append(batch, group(create(s.normal(r)[0])))
			}
			for i, result := range s.apply(batch...) {
				class := mirror.ClassOf(result.Err, mirror.Unknown)
				switch {
				case i == 4 && (result.Err == nil || class != mirror.BadChange && class != mirror.Undone):
					s.Errorf("the bad record gives %v (%s)", result.Err, class)
				case i != 4 && s.cloud.Limits.Atomic && (result.Err == nil || class != mirror.Undone):
					s.Errorf("a good record of a batch that is refused gives %v (%s)", result.Err, class)
				case i != 4 && !s.cloud.Limits.Atomic && result.Err != nil:
					s.Errorf("a good record gives %v", result.Err)
				}
			}
			if s.at(bad) != nil {
				s.Error("the bad record is there")
			}
			if there := s.at(s.normal(good[0])[0]) != nil; there == s.cloud.Limits.Atomic {
				s.Errorf("a good record is there: %v", there)
			}
			if err := s.apply(group(create(bad)))[0].Err; err == nil || s.cloud.Limits.Atomic && mirror.ClassOf(err, mirror.Unknown) == mirror.Unknown {
				s.Errorf("the bad record by itself gives %v", err)
			}
		}},
	}
}
