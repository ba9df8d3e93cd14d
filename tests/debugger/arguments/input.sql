.testctrl prng_seed 1
create table customers(id integer primary key, name text not null, city text collate nocase, balance real default 0);
create table orders(id integer primary key, customer integer references customers(id) on delete cascade, pieces int check (pieces > 0), at text);
create index orders_by_customer on orders(customer, pieces desc);
create view totals as select customer, sum(pieces) as pieces, count(*) as orders from orders group by customer;
create trigger counted after insert on orders begin update customers set balance = balance + new.pieces where id = new.customer; end;
pragma foreign_keys = on;
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
  insert into customers(name, city) select printf('name %d', i), case i % 3 when 0 then 'Rome' when 1 then 'Oslo' else null end from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) insert into orders(customer, pieces, at) select i % 200 + 1, i % 17 + 1, date('2000-01-01', i || ' days') from n;
commit;
analyze;
select c.name, t.pieces from customers c join totals t on t.customer = c.id where c.city = 'rome' and t.pieces between 10 and 60 order by t.pieces desc, c.name limit 5 offset 2;
select city, avg(balance), max(name), group_concat(id, '-') from customers where name like '%1%' or name glob '*2' group by city having count(*) > 3;
select row_number() over (partition by city order by balance desc) as r, sum(balance) over (order by id rows between 2 preceding and current row), name from customers limit 4;
select json_extract('{"a":[1,2,{"b":3}]}', '$.a[2].b'), json_group_array(id) from customers where id < 5;
explain query plan select * from orders where customer in (select id from customers where city is null) and pieces > 3;
savepoint s; delete from customers where id % 5 = 0; update orders set pieces = pieces + 1 where at > '2000-06-01'; rollback to s; release s;
select count(*) from orders o left join customers c on c.id = o.customer where c.id is null except select 3 union select 4 order by 1;
select substr(name, 2, 3), upper(name), hex(name), length(city), replace(name, 'a', 'b'), round(2.567, 1), abs(-3), 7 / 2, 7 % 3, 1 << 4, cast('12x' as int), typeof(null), 'a' || 1 from customers limit 3;
insert into orders values (1, 1, 1, ''); insert into orders values (null, 1, -1, '');
create table wide(a, b unique, c default (1 + 2), primary key (a, b)) without rowid;
insert or replace into wide(a, b) values (1, 2), (3, 4), (1, 2);
alter table wide add column d; alter table customers rename column city to town; drop index orders_by_customer; reindex; vacuum;
pragma integrity_check; pragma table_info(wide);
attach ':memory:' as other; create table other.t as select * from customers; select count(*) from other.t; detach other;
.tables
.schema wide
