#!/usr/bin/perl
# Turns the records of `apt-cache dumpavail` (standard input) into entities, one JSON object a line.
# An entity's id is made from its package file's checksum, so the same package is the same entity every time.
# Uses no module: perl-base, which every Debian system has, is enough.
use strict;
use warnings;

my %numbers = ('Installed-Size' => 'installed_size', 'Size' => 'size');
my %texts = (
    'Package' => 'package', 'Version' => 'version', 'Architecture' => 'architecture', 'Maintainer' => 'maintainer',
    'Section' => 'section', 'Priority' => 'priority', 'Source' => 'source', 'Homepage' => 'homepage',
    'Depends' => 'depends', 'Description' => 'description',
);
my @order = ('Package', 'Version', 'Architecture', 'Source', 'Maintainer', 'Section', 'Priority', 'Installed-Size',
    'Size', 'Homepage', 'Depends', 'Description', 'Tag');

# A JSON string in UTF-8; a text that is no UTF-8 is read as Latin-1.
sub json_string {
    my ($text) = @_;
    utf8::decode($text);
    utf8::encode($text);
    $text =~ s/(["\\])/\\$1/g;
    $text =~ s/\n/\\n/g;
    $text =~ s/([\x00-\x1f])/sprintf('\\u%04x', ord $1)/ge;
    return qq("$text");
}

# A version 8 UUID (RFC 9562: free use) from the first 128 bits of the checksum.
sub id_from {
    my ($checksum) = @_;
    my $id = lc substr($checksum, 0, 32);
    substr($id, 12, 1) = '8';
    substr($id, 16, 1) = sprintf('%x', hex(substr($id, 16, 1)) & 3 | 8);
    return $id;
}

sub member {
    my ($field, $value) = @_;
    if ($numbers{$field}) {
        return $value =~ /^(?:0|[1-9][0-9]{0,17})$/ ? qq("$numbers{$field}": $value) : ();
    }
    if ($field eq 'Tag') {
        my @tags = map { json_string($_) } grep { length } split /,\s*/, $value;
        return '"tags": [' . join(', ', @tags) . ']';
    }
    return qq("$texts{$field}": ) . json_string($value);
}

sub print_entity {
    my (%record) = @_;
    return unless ($record{'SHA256'} // '') =~ /^[0-9A-Fa-f]{64}$/;
    my @members = ('"id": "' . id_from($record{'SHA256'}) . '"');
    push @members, member($_, $record{$_}) for grep { defined $record{$_} } @order;
    print '{', join(', ', @members), "}\n";
}

my (%record, $field);
while (my $line = <STDIN>) {
    chomp $line;
    if ($line =~ /^\s*$/) {
        print_entity(%record);
        %record = ();
    } elsif ($line =~ /^\s+(.*)$/) {
        # A line that is indented continues the field before it; a single dot stands for an empty line.
        $record{$field} .= "\n" . ($1 eq '.' ? '' : $1) if defined $field;
    } elsif ($line =~ /^(Description)-[a-z][a-z]:\s*(.*)$/ || $line =~ /^([^:]+):\s*(.*)$/) {
        $field = $1;
        $record{$field} = $2;
    }
}
print_entity(%record);
