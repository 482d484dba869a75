// Sampling: temperature, top-k, top-p and min-p on a language model's next word.
"use strict";

explore.define("sampling", (live) => {
  const { html, set } = explore;
  // The model counts words of the prose of Python's documentation (PSF license): those
  // of the 250 commonest, in the order of the text; 0 stands for all others.
  const WORDS = `
    the . , a is to of ( ) in and if are be for an class or that as it by object with
    statement value : this can not exception function list name pattern on ; when from all
    code block arguments method same one used module at which argument expression may
    instance type will new should called objects types defined following python have any
    first must no its only syntax also clause comparison keyword execution namespace
    return they built-in executed case statements target current line suite using values
    attribute raised sequence subject call default expressions methods their there
    assignment other then command but functions positional section such x bound classes
    definition future import local operations present than each evaluated getitem given
    global mapping parameter string these true tuple within before commands context
    corresponding has items left match metaclass number see example implement names note
    passed reference after breakpoint contains either except exceptions frame more order
    patterns some use always assigned behavior body created error form implementation
    interpreter keys loop otherwise program result scope special specified standard
    subclass was without you binding cannot do e else false most next occurs operation
    operators parameters possible raise right subpatterns try two variable allows
    container different does empty finally i identifier instances iterable key length
    level multiple operator returned set single subpattern up where been being control
    defines described dictionary elements formal found lines none out package raises rules
    so those typeerror way y below however normal numeric resulting semantics separated
    variables
  `.trim().split(/\s+/);
  const CODE = String.raw`
#s+1(#tq*#(t+?#*#1#&%>3%s(tG)#J%t'#&s<s+1S*,#-#sj*s1/*#6sb+#b?4s<=#%XE,#7@A2(tYX6(#E'%
#(sY-/#%tYtw;*sO+%s,#'Ksc*tC&s<+4;*(s,E'#.#6#')#d8#&0%s,E)(tYs,<k#'#.#'%;)s{*7s,&0%s,E
spRs,#<4#'a(#s,?%;j24tQ<U#8#sb8s;1#.%s,E'#R&%isb+%tQ1s{'Ksc*tC'*%#s[%#s,&%#sb+%tQ1s{*%
#sn%#s,&(E+%#sb.%tQ)s>s{*%#s,,%EA2tL-&t9?%;j24tQ<%Qsf+sb8s;1#.%s,E'/%sb1s{'Ksc*tC'*%s_
#&0%FtKB#.(sS6#=.%s-MN?%F)sF*%;.%s-sKs%&t*?%F)sF*%;.%sSs%6%#s%#:#'#&%F)#09t2#sF&@Y#%sm
#3%;#sF*%F*#'#%;*2#/l#,09saR-*2a&0%s,)4s2sm?%#X.%sm)sP&9_#4;<#I0@)B%s*'tp)s3&7;)s>#*#%
s{;*%sRs2I09t6#%s<'9tl4C,#s@B#-&sk?0%;)(5Z/%s2smt=H#+%s<tV'%#X'(&sEA#sq4Zs26,0kZs2#-(5
s2&%#s,(&sE)sztX84Zs2'#90#&#'%tF#+(&sEt7B#*%Qs2?0%#X#*(5s2'%#(^Zs28%s,+%s<?0%#)(#s4;,s
D8(E-'%#j#4#&09)#'%#tS)#*9&%tw>j2(#sN%#tS'/%s4)#*#%s{;*l#<7#&0%#)tj+#'#)s3,s<*(#s4t6#^
sb*(E-&#s<)%#'.(tY='+(#t>/4s<=?4#s<#%s,,V'#tus<s+'t624#-/%XE'#%#t>#*%[+s<H%tF#'/#%t,*%
#s,&%s,)msP#&#tu#'#%sc#s[#%#&3sh'(tN#,sE-i#(tN's>9#,sE-/#%#'/#'9#%t,#*(tN&<%C+#*#/tU#.
(tY='%s<#:#s<s+)#%Qtq8tu#&#'<%C+%tA#s|'%#t>#:#s<)%Q8%tu#sL&3#V1s2#'%Q#5/Z#83#&%#Ktus<s
+)7m(tYs,)#&0(F)#.(Dt-'s>@F)sK37t-&#1#sP/#.D#&s#+f#A2#/#U#,sg#-&#s8'#3/#<Am2S.%s}+(#D&
sAd<#n1sz#sA'#0s't7B#6#&9)(#*sy(#KX#%s}+(#D&4#tQ#4#P7#4#'VAs6#M.l#P&%#3=tH#&9)(#*sy4#3
=#%s}+(#D&4#s^#)(s^#7)#*#s#.l#/#s9&9)(#*sy4#<=#%s}+(#D&s5s1+[#'#'/#t7Bsds4sw&J%F)sF*4;
'#+%#7;&J(F)BsF'4#*#9tl(#C&L#*#c'/#%#)#sNl>&tU#+#<%Q>,sq%Q#.%t+#6(tJ#-Y#%Q;6(tJ;<%Q>&#
%s#+#H4#;&Am2S#(#D&%#sLg%#&sk7sx+sWsLo#*#tvc&#K%#tV's;1mtF#'R3#t?/R3#t??%,U-tV)#*2S3#&
k#fcsi@tV&%,#-/,#-t?#%#+s:O&%tvO1i#*(#[&#+#(#'#+#.4#I%t,)7+#<%#D#*%t,&#:#tl%#C&.#*#%#t
>H#'%tV)o#:sVb*#sV#,o#8#-&%n3sV#)tc.%f#sm'sC#sV#&Mb1S:%t&*#fMsD8(Ds}&s'#KDb#s'#(sm*s:s
Ss##&Mb1tW:%#.#,-D/A2#KDb#s:Ms2&sgo%MT&(M;A2s)6sP:#9,#+(#sV-*%#,-6#,-s(sA&@;)tW:sA7#s&
(>&9#kt.sL&s;)#R#;'#ti,(s(F-&[,ti-,-#%Q#&[b#%#;c&4#[)#:%s(D[,-&s;1kt.sLHc&%t0Tctbsj3Lt
0s(c&.%s^+#sL'/oJs81S:ta#s+'%es11#8t:?t:'ti'tv#+Lc'/tL#/#,#'#'#'#'#/#-&Ls=s11#8sX&#bA#
s:#>:#(#,-P&%XsE/tri#sEI0sE)t:'l>)tWIt*'tr)sP/%tw>)tW&%XsE6tri#sEI0sE)sX'l>)tWIt*'tr)s
P/%tw>)tW&9#%#t)'#%#t9p0%t)saR&0(3t))#:#'%t)tas,#ls->&J#tatj+(tE=<(tMp'7tMp)s)s[#%t)&(
s6#(#;,t8&#&'(D-<(#tL#+O?4#Y2sMsn%sB/rOs@tKB#%tx&%#j#*(#;,#sA's(sA's9+s(b'5b's9+5tP'/L
b#(s6,-P1#-&LWs81sPs[%s6)#&#*sCD#3%n+tfsU#&0rO1sM's'1i#*sBO'8#&i'(E+#)s~3%tft@&0s;1#sB
O's'1#.%i#&t<'3sOrW'%tO)S*#%s_#,0%tO)%Q8%itfsUF'%i#)S'/tnH-&0%#)#'(tpC)s3&t*'%W)#.%#'#
9,#0%X)ti'9#%#-&JLOgt^#'%#71#1#<%s_s7>K%DsH&,s7s11#'#'J%D)dI#'(#;sD8(E6tdS8s7>]2#:L#7#
4W>3%s_#I@_#2#&-0s;1h#3Vks7>)t/'(tpC)s3&t*'%E+#)S8%WE3%s6&0s;1susBOsNs;1tfsU#'(tpC)s3'
#(tfsUs0%ntO)sMI.@s*'7tfsU#(sY#%#sBO,64tLsY0s;#k#sBO-&0hrWtKB#*(tfsUF'(tpC)s3'#(tfsUs0
%ntO)sMI.@s*'7tfsU#(td#%#rO,s0%#8t(/%Ws18s_s1-'6(,^-tLtd0s;#k#rO&(#+@)7#%XnY#sn#rO'9)#
s[%rO,/hXOsgts-&tn?9)#3#rO/%Xn*2S.%Qs6'tn.#@#tKB#&0%nX#.%Ds6'Xj#*(sT'%#+V1#8#rO&0(sU#(
tRsa#t^sR(>,:4#rW'6K#-'(tpC)s3&tft@s0%ntO6tOt62S8sBW#68rWsj&(s6sz#sx>'#ti'#9tl4C&#@>)#
H%[+%#;&(5sHtb(5;,sgsC%t0[#-?%#s/)s>s).(^s#st,sg#/t5-'s0(#s~sKs%/%#sSs%&,#'%s/sp#D#&-J
%#s/#s#'ls#st)#s@lsKs%)#&(5;)s>s~s0%#E3%#sG/%#sKs%3%s2td&%5F)sF*@5;.%#sKs%&%sv.V#1d.%5
s})#.%^#&sk7@)#mtCsn%5)s~/m3sG7#ds0%sHn&%#tm3%#s81%Q83D#&%t,)s>sF*%5F&#'LqsL.fg%Q#'V)#
sN7+h#'#6#t>&o#'s8#(#g%#7)#.#?#s1?sX6t:&#qs9Ys&#s1&.@s*f]s6#,-HsD>.#&#A2#'t8&#&'sEtr#)
#*sEtr/tr#'sr7tr)sPm#,s@.#)BsPULJsEtr)tg*2t:-&#b's1/c#7bg(>,.#*[/#-&%>+4;)(#.f?3sh's;)
k#P34#>&o's;)k#7%>+4;_2#.(#tq't8&#&#+Ll#&qt?si(#+#%>+4;)&RA#+#8#%>+4;#':#+s:qt&&#Lc1,#
6#-#+;'s'#%s7qs|K;&cA#s:qs|:#qs9#,-'tc.#&%s|+%s7#q'7tP<tJ#1sz#'Y2.#*#c]#7g(#sH+;>/#&sD
c]#*#s:qs|'/.#'(sf+s(cg#7&%eE#%qs|+%t;#s(c&#+s(tvc,tvc#'#'#-/+%t0#c#&#/#&#A2#sZ/#s:c'<
%#7#t7B#svq&sZ%#+%c#'s'#,#-#t3#+#&#,tP+#6#-A2#sZ/#s:c&s'#s0%tvs1+s:te&#,tP+sY'E'6#-A2#
msZsO+s:c'<%#7#t7B#svq&#q#sWc#.#'/#q#sWctltp&#s0q+s_te&%s(#b1#*#&7#3#b*#/*#s:#&#,tP+#-
#0/m0s'g#,tR'>-#&#q+%t(/s1#&#,tP+tX6#-A2#sZ/#s:c&s'#svqt?*#/#&to#t7B#,3sh'%tF#'/'1B#'#
+R#'#+R#-&#'#1B#O3sAV#H#,3sh'#,-'#,-'/#,-#sR(E+#8#-&t;s=s(cgkqs9#'tns'#%s7qs|&#sG7#s:q
s|_#sx#tm'0tA?#q_2#&.s=#'#b_#?q_2#&.s=#'%es8_g%Qt,?q_2#&%e,#-#7?#q_t,.%#&.s=#'%es8_g%Q
t,?%#,-t,_2#<#&b71#_sqg%Q#>'62#8#&ftKB#sW#tm&.#'%#s114sh3BesWtm&#s+#,#+-s=s+Is'#6ta%s#
+tos=s+.sxtq&.#'#s+#tUth'#.#(#=Y2#.Rs.&%0'#/3s+si#ta#&tE#C#/6#M3(#+s+'#%<=tH%s#+#/#M#(
N+M&D/5#1o#s+&(#=#+R6su#&(p#+(#/(s/&%p#+(#=1LU%Q#tT&sOp#<(#r/#<(#&(s/)(#+s+#:(p&(s/A2R
6su#s+H%Qs.8%#'e%#'69A2R6su#s+H#th&m%#t%+(s/A#s+I%e)#'#9#2#*V0p(et9p#?osk7%#sN%#.@s^'t
n7.%esh'sqL6ti+%#,-#1s)?sk7s+sz#.(#:(#&osk7#sz#<(r7t6#(='#s;1k#,%#t9#)#.f:#0s+*2#-&%#+
%#tm.%e#sOpH(#s.3#&9#R+%#:#%s8R:R#R)tg*2sX,sgsC#sL3%sH+sX/t:-Is>7s/)s),/ks=#+%0=)s)6sP
-&0Ls81t:'%s/+%t9p'0sM')s)&%#=)S3#s#8#84X)sX?@#%X/'09)sX'#%is/I0%X)t:,VY2%i#9)#-%s/+%t
9p'0sM')s)/%t)#&(#=s).%is/#%t)t3#%t9#s/&(#=s).%is/#%#+%s//#*#%X&%3=)S*#%te+(s4,sD8(sV'
sY6E-6s=tQ;?(#=s).%is/#%t)t3#%t9#s/&(#=s).%is/#%#+%s//#<%t<#'6<%t9p0s;)kt<#&%#*%tz.%s,
E&@#L#*totz#to#.%s/+%#?sj.%s,E1B#J%t))#'s@0%s4)tL's']Bgt^s{*UL:%t)&#?%s([#,-#+#&3Z'#,-
#''/s>&%tE=#C#/6#M3(#+s+?#HssA2tg.sCss'/#Hs0%tB=*#ssY2tg.sC%tB=&0%#+4X.%#+4srptl4C'%#3
(#)#/(#3%^C.%#M/H%s6#,9)#80%#tE=s3%C-&@#%Cj2s{*(tJF*2#*#*9sn%srp&ss1#<%#*#'s't%(sm#<%#
st'#L#.7st#%t<#t=&%#t9p)s)0%ta#%tEs/'kCt2s3'/ks&'#'6#=t2s)&ss.%t9p1B#:%#sr#&%C#)B#*%t+
#s#+%tMp&%<=)S*#%s#+(N<s9d:(s^#,sgsC<=s^#-&@tH#tE&&&sr&&&tM#sw*2#3#&%s^X,%XsR.%<#-)sP*
#(s^#&0(s,t2#.%<='%s&>K#,-)s{*9&%<=#70%#,-P#t34t#'s>#,-]sz2a&#'04t#t=#%s<*%s,E'9]2#%Q8
4t##sZ%s/#2&sg#ts&%s^#,-P)#&04C#%s/*2#'l['>'/#1sl8O*#,-&t*'#tiO1#&0%s/t2#*4C'/%s&>K%#,
-Pt2t:'%C)#&0%s&>t2sX'%C)#'/s##<%=e%<=&0%s/t2#3h#s=sN4C'%s&>K#,-)#'/s##U%tu#3%#+#7t2#&
<susNR#'%s^#1#80tU<s+#?t4Ao#s^#.tUth0%sb1#:#&3sh?G#(G8#,es*-/(s5>,esd-&%G,VY#tD-)#%s5>
&%#1?tAt5+#s1*(F&%#3@1#ts&%s5Xs5#)sP/(tws5>#&0%s5Xsp(#'(sY)#s0%t0tm&sOG.(s*N)#*sd<%s5>
&%#tm3#6#1tcts&%sd#Ao#sx6L+%#sjsZ%G&%#Gt5tm#G[/1t/ts&F#(#Gsd#%s)N/A2Ssn%sd=&#G#'sxtDY#
&t7B#H#t_#3(#sd&#'t7B#Htz#sn(#sd&%#s|)#Ht&/Y#&@)4#*#tJ#*#&0%G#'%s_#,0sM-)sP&.@s*LF#1#*
g#&0%#8sX6)#'%N#s*N)s)&#_#H(Gt_sP&#Ht&'%t'Y#s16sys=#V#&(#,V)#+%s*-j#3M#%s*N*#&9#%t%?0#
:4X&#7%G.%s*N#&0%G#'%#)BsP/%t<s*N)#&#1#*g#8s'1s8&#j#K%i*%#s*N'RU(#'#s*#G,#-#L#&,tN&t8&
'#j#.sv&-#j#(s*N)#&4#s*N)(#s*N&(sd=YgUt;R#s*N'/9j2#&(s*N)#09sak#/lG)#&(G)#0#A#Kln#79]s
z#&m%esw1#?%#ts]#(#.#+#(GtK3#,#*#3(#7#t;+%#-&sk7sW#1#3#/YB#%#t&&#'s't7B#L#&m%#tZY2#'/s
OtZj#%QtX+sj*#&46G#sO+ltD.#*%s5>'#R#&%6G)s>#&t*'0ti+%tD#'%6G#&48G#46GH%sc+%8r#(s5&n?%#
sfsf/#sfsf13#Is'#(#sfH%sc/4#sfH%tC&t8&#&#&#swsz#&%t5#tm#:%s<XtV.#I%F#(sKtG.%#Dt-#4#sS6
#=&(#Gsz#,#-/#kF&n?0%Q>t=tU#.%Qsd='%t'Y#%i>tg/#9#sN#%Q#&@#)#*(sRs#+(sRsd=&(#GtH#*#sw*#
%#&t*'9sak#n&n?(s4Gsp#tD*2#s4te&%n)#*%#+(E6sY&Ut;R#tZY2.(s4G&%#tZY#.h#&0k#tZ)sM'%s4G)(
#s4GIt*9)(#s4G&%e)%#3#(s4G#(s5>?0%s5>)4Z+#'#6#%s4G#&%#H#%s4G)#6#&tD.%s4G1#*s:s_sb.%s5s
4Ksc*tC&#8#8(tZ#&0LtD#.#s:s_#'%s4G#&0%tS+%s5s4)#sN%sf+#tD'%s4G#&%#tD1#*s:s_sb83#&0%#'%
#tZ#(E#+%#s5sb'#%#sbs_*#tDe%#tZ&#tD1#*s:s_s5sb'83(#s4&%tS+%s5s4)#,-,tN&t8&#%#,-#-&@tSY
2#:%t'.(#8>sw&(sTGspR6su#sw&%n)#*%#+(td&n?Ut;R#GY2.(sTG&%#Gj2%#tZ.%sTG&#t(.sTsw1#&#t(]
tB(#&tFt(7t*g%Q>]tB(#U#&%e)%#3#(sTG#(s5>?0#tRsR.%sTG)sM.%s5sT'/%G3sOtR#%s_#+%s5sT'%sTG
#&0#t(1#.%sTG'%G)#&(#)s33#s1I6(#3#t(+%Q>&(5G#(5/lsB/rO,0h-&n?%e)%#3#(5G#(s5>?0%s5>)B4Z
+F6#,#,--'%5G#&0kGO1sM'%G#&t*'%#H#r6sBWsw1sM&3(sf+s(c,t/ts-'(tYsBtZ)#V]sd%#s5I3sWcrswo
#83s=c&0mrsw1sM's'1#8#'R:R?0@tl4Cs=sN#'%C#t[&t9'%tZ#<%rG)#%#s2>&0@#'%5G#I0@#'%sd#*%t<r
&0hsBsw1sM's'1#*rsws0%sd#s2H%5F6#s[#?0%tW>)B(sY'%#/tp)s3&3%es(c%#+sBtD)tJ?sWsG#(tYsBW'
/%Gs;)#%#;#sN4s2&3sh#,-#%>'s@B%>&&(DsHtb(#D;,sgsC%t0[#-?(DsH)4#=&ls##%DF.%s-sKs%*(D;,(
#%#M3%D-&@D;sp(sm*%s-sSs%8%sSs%*2SJ%D)a&JR6sut@g%t%sUX'%D)#*gs7sUs1&3(sU<(s7>'%s_WY2#K
(s6'.Vs*%#s7>)#&0(sUsa(s7>'Let@t[#%jog(s7>@)(#7)B#:%#&Ds6tx1tc.su#.sC#&(Ds6sz#s1*Lt@#.
%sUE'sqKsBO'KrO'6Ks7s1&0%t%tO)sM'9)#*(sY#h#sBt@'#*%tLsY&0%t%tO)sM'9)#*(^#sT#h#rO'#*(^t
LsT+%Q[&t@sn6tO1#t@/Ym2sl:rO&t@s[1#t@/Ym2sl:sBO&9)otA*#sA,sABsF*(F-'3#sy.s8&@#s8'tc.sC
#&sk7%#X)#(#3(#DsHI(Dd.(#=A2sl#6s{*#F#(Dd:(#X&%#t%)#su#9tH%s#+tUs+/#&J#tatj+(tE=<(tMp'
7tMp)s)s[#%t<t)#&a*#(^Z+5#&^,-)(#P,#tnt4#B#98sD-7#%5+V4Zt2#8liW&%#O1tosl*%;#X,%s6*%5-&
%s&>+^,-_2%^;Z,#4Z+#-&#(^Z+%5:#%#^,-Ps0#,-&^,#'&&&-<#O/s>#%#s~Z8#s[#9&aJ%Z)#*2#&@)oa(#
6,#-(#&0(#5sa(#,-P'%#,-P'0h'j#s69*#+%#5#+%Z&9)tA,#B#-3%#,-P*#+%Z:#(^sm*9&@)a;#&9)#,-)a
(#J(#;)#*2#I%s-#t&m#9#&#*%#V#,-s91#'ss7#s:s#1#'/(#)#*#&#&.#?a:%#,-s(D*#%#sV#+4;&0ULtA'
@_#(#fX7#2S*#4;<%Q>,sR4#-&0@)BtA'(sV+%t%&&&sx#&&&_2tW&%s&>j2(sV;&0(5tb#,-s@B#,-'s>#,-)
oSJ4#sV#+tP+75)#&@P#K;&#,-.7s;)k#7#,-s&(#fX?(su#6#A2S&a:%#,-s(D'/:#'#+#sV#/%#&#,-P'*#(
#sV#+4;&%#W)(sV7sp(#+%#&%#+%#W)t[*%[#,-'ttt;sG]sq#*R+%s(c'6sy(#n&(#qPYs&%#09tKBsi%t>3(
sR#+O&:#'t:/sX1tW3(#q&tt'sWs9As&h>'tn0%qtV)S.(#s^,t8&#&'.%#+40=-'f]s6#,-H%>*#0%t,)sX6t
:&sg%#H#,-3sx#H#bV#qsL/1#8tdt(&a:s(D#,-/3sLH#+#tX'#'/#&%#,-P_s&4#&%m#)7bV#g%Q#>I9)#*#%
#s1+%#+%;7o#(#.q+b:#(sY/#%sY&sh?%T#tb4#M#3f#&9#,#-#/tY#U%#s.tT'#+#'#M#'/#+#fM.%s^+h#st
&9o#/A2a#t+ta&%#)#9)#d8%5#&@)#s@#:#%#&%#%#/#&T#S*#f#'H(#'sn(#'6H(#&T#t0#*#'#/#+f#&%Ttb
%esAIsO#%#.(#tJtq?s6%D,(D6P;'B(sV-<%sRO&J#,-#'9#%Ds6tW&%#8#8%D)#&%#sA/tX#,-1#3#%#5/#%P
+%QF&0t4#*#'t4g*t7@#?%#'#/#O1sl*%#&#5Isg%#s;&%#W#*sX/#]#&#K%#&%s]#:%#1#ts&t;s]A2#*R6tF
#8#It8&#&#,#-#7sq#6#A2S*#%#s?,s@B#6#'#6#6#-&O*s]j2ty:#,#6#-&#O1#.#,-.%s?nI%#jB2#&#.%s?
n1ty:(#,-&#(#s.#%#s?#&C?0%#s?t2(Es?'%t<th1#&s]7%#1#*2fs+/1s).%s^+%t+t_#&fs+Ao2#<4#,-&@
)(#tq*#%t+t_#I9)#tA*#(tG6s6(D&J4Ct=.sD(='%CF)#s@%#)B#&%#&#Agt@VtHR(#tT+#*%s^#&tUs]Y2#H
(tYs.'ty:II&,(tYI)BS89)%#3tUs].(s.7)sl*%f#&-k#)#*#%s]I%#)#U%iII#'#09).%#+(#sV&(#3#<#)*
sy#sV#II6II&t3W'#%E+#s]&<(s?8W'#7s?&#%#,%#+%#T-&#%s?Wj24tO'#j2#*#H%s?&#%s-st#,s7R-#.%#
,*(#st-&#%s-st#,s7R-#t[.%#,*4#st-&0(#W)sM'9)4XVj#*sXs[%so)#&t3W'EL#'#3sOso'%sf+#7sosat
^#'%s-#'/%#0h&#so'V)#J9)i#&%O1%Q83#&<(#?#W'#L%#U@s.&<(#tyE+so#'#to#&t3W'#L#,s@i#-&#%#s
R8(#tyE+so#&#(so#9t6#%t+*#s#'s@#(so'9#.%E+#/A2,#-#&tX(^#3%so'4XVj#*sXs[%so)#&0#)#'h#)#
ItN&t8&'%so)#&#(E+s]3sosf#&%s]#H%eth&[(s.#*#%s]&4sh?*#Ls]K(so'[s]/#9#<#I7)'#ks]&t4Asys
os]*#t+t[#&#sy%#s?'6#'6hs=s?7#s#&#%s-s.'#U%itA#,sq.(D7)a6H%t<s..%s-D-&t3W'#s##%s.<(sf#
sN%s-R)#&tX%t<s.7]2s)&m#.%#st&@#t4#/#M#'6#*#M7t4#*#&9_2#7BL#1#3Z9)BtA*#%#+(3t)6tj+(tMp
&E#M3%s-#&t3O'Eth#%s-s.6#%#&<&8W'Eth#%s-s.&<RW'Eth#U7s.&<tFO'E%sR#I0%#W)#sN%i'9)#8(#&%
s-s..%s-st)#:&04C)t_#'%s.t]%Ct2#s36#)#:'09#K%s-s.&EL#M3%s-D6st&#th1#83E&#Y2#/A#7A2#U%#
&sk7#s]A2#:#&sD(s?)s>#%#)#&#)#*%i#+%s?s.ILs=#.%s.1sc#&84sh'#1tF#,#J#.%&#-?#)#d#*%tqs<)
d&#sN#9tj.#'#1sx#&(#'.#*E/tX#'#tFs8ty<(#:%#3/0#&J%#)#'%twtR/>te1#.%^td.%svs'1#&F#+#tzt
=U#'BU#&@#7%eM]#?%#,-/#,-sAt7Bg#*%#3#sj&sjY2#.%sK/sS#+%#&#tz1B#.%#s%'s@.%sSs%&%#,-/#,-
sAg#O*#%sS/sKs%&0mRs%)t/'9)S3#&ss1(#+#tj+%tu#+ta+(MN.sv*#6s=#&4C)s3U%#t]%t#)#I9Y2#:%#M
N6:hMN7#6#%MNt]%t##&%ft'tl4CJ9#(#t#,sD8#:#-&(ft+Ao#tB4C<%tB=&C#1t/<%tE&&&sr=&%tMp+sD(=
A2S*#MVtKB#%C's@)s)#4C#6B.%#M&f#%#+t##?4C#A#tj#/#s#U4#tT's@9t6#%#+%t#/#%#t>,sr:#%#+MK%
#-&J4C)B#UL'%t'#s#+%t+'6#*l#t)&.sqs*'9#(#'srJ%C)#&ss1#:5tP&%srp)#H%5+%Z?9jsm%5+%Z6(#5#
&%ZA2#:%#/A#%#&C#1B#+%f#&s:#Y#KR#+f*%t<t3#/_B2#H:MV]#tU#+%t'&sgo%#+%tE=.sC%tE=/tB=.sC%
tB=&(ft+)#KM#&(N)(#+ft+#7)s)8(#&%e1#?(T'(Ds}'/(5sH&sOs?#)(N&(#,(#sR8t0#*%t'6t/8(s?s.W*
%t'-)(MN&(#s?,(s?t/H%t's?s.<%#-)(MN&(T#8(#tT#,8T#-K%s?s.s0(#W)o(MN&%sVWsl*%s(sA#,-/#,-
)(MN&(MN)s).4s#st&(stspsx#,S3#-/#t]/#s##sn%M#s#sa#&%sJ=+%t%K&&&sJ#Lsjd.%#T'srto#<4#&@t
%Ym2SU%TtT&(s,#.(#=)o#sF3@#,#%#tx1*#%F-&sOs<6sJ=t=sZ(Nd:(56DsH6U%TtT,%#MN-&0(F)sF.(N'9
)(sKtG+7N'#8#6sS&0(F)sFU%TtT'9)(sStG&,%tz+%TMN1sK/sS&-0(tG)S.(MNs@Bds;'9)(#tG&sO#+(F.%
t+#*%t5+7F#:%eF#tm&(t-tb%#+(FsZ(N&0(sKtG)d.(N'lt-#7N&0%sHt=.(DN'%t-#*h#sZ%#R'#(#N#(tJt
53%F&J(F)S.(MN'9)#s0%#t-&%tX+LsD#*(MN)a%#&J(F)BtgUL'(#C)s3&0%s-t-)(Dt-'/%F#*(sKtG7saB#
t^sF*(>U%#t]%F)S'4#C)s3&#)(t1+#&0(Ft5t>t=#sZ(MN'L#+%FsZ%N1#8#*%s-N&@A#*#J(F)SsZ(Ns[9)s
F&@#)#&f#/tHFt5sL*#sZ(MN&%sKtz+(MNA2#:#%#+%N3Ft5sL&sg%#H#3#&%sS=sa%Qt-8(Ft5t>.%QN&0%#t
-3(#tGsp(sS='%#tG)#8(sS&%s%3(T)#s~%i#(T)#&%#T3(#)sza#&%#s%#<%s#+(MN)#tg:#t[%F#.lsSs%I@
_2(td6(T,.%#s*%#td)S-&:s7'J.%#T'#)%s(T#IJ.hs=T'#)4#3%td+%#T#&srJ#+(E6tX#'4XE#U#R#(sY&%
tS+%sY)%sf+s8.%E&%s81sPKsc*tC&4#tQ#&l#j24tQ&%tQ)#(s4+sb'V1#.%^sY'E'6tX'U%#+%#&#sG+#,#-
gt.#&sWsG1#:%sw+#/#?#')(#tO&9)#S*Ft.sb's@9)Bt.*f#&%F)#S.#<#I#*%#3%#T3su#H@#&9)o#S3#tz&
J%=sptU#,ty:#-%tF#1#tj#3sOp'#8#%#t^tytj#sJs+&%#+%i#'#/#'1tc.#.%sCH%sJ#'Vo#%#c+#/#7A2#'
8#8L%#7A2S*#%sJ#&sk7#.@#Y#sq7%T#B2#'674t##%T'V#s#+%#M&0%#T)#'9]2#.%sKs%.R+#?0%TF)#:8's
>%Fe8)sF#*%#T&0%E+#)#:(#,-'L#sjd.%T1sF.%sKs%3%t-t]%sJ=t=&%#t%+sJKTsJ)m#U%TtT&#*sy9.56D
#]tB(#&J#T*sJt4t7Bg*#%#F+%T&J(T6tk)#sZ#tk9)tA*#(#sJsZ%Q#tkt3#*#%tkF&:s0#.%t/T6tksnKt4A
#*#t[%s-tk#t3#sj&R#%s-tkt]%T#%sJ#&tF#t[RtktT&#)t[tF#'#&tn0t4#K&sJ#K(T.%#tks>t4]#t[#&#&
0t4#K&&#sJ#KsZ#&#t4]sJ#&#&#&%#3#)#.%tk#sC&(sI=)(#*%#7(#T_2#s0n6tx7]2#.(t/sI#+ft]%#t0&%
sI=)#*#*sI#+f7#*%#&9tHsy+%^#H(#s[%#.V%#t0&(sI=j#%#+%T&%mth7A#s[(sI=1?L#:%sI=1#:f&%E#sJ
'#'#'#'#'#D'#/<=&s'1L#s'1sz#'/m#3#&(sI=)#/#U#?#*%tx+#1#:#tJM&9Y#2%s*7(^#^#n,sD8(^#-'.V
s*%#Y#*#%T#&sD#t62#&3hsR#'%#V#sjgt^d'/tl(#t#0(sI=sp(#B#*9&%#tx1%Q83hsJ=?s;)(t0TsI'tc#'
/9]2#.%#tqU%#%sI=)s)&%#tx#H%#:%sI=&7)B(sI=I#4#sJ=<kt.tx6n#&M#:#*%s(sA#,-/#,-7#.(T#(sI=
]':s7'sy%^n6tx#<%sI=&@A2#:#O*#,-sg%#+7D3#&(sI=#U4#t'#]#3%#+%t'#&04t')#<%tN#')sl(#F*#'/
%#(sI='9]2.#.%#sn%#)s)&#s8,#a#-1S*#sA&%X#t@?X#(D;&%#;#(D;d<?sgsCD#3%n+sU#&sk7sAs~<#s8t
6#s+6#&(E#)(#tL#+s8#.#?(E#(^E;'%#t_t/:sq(E+s86(#&J(#tyE+s8)#'lte1sPKsc*tC/#%E;.7sv&J(#
)#'%E)#K%tetwK%#&%es9A2d*#tvb&s9s_*sL71B#:%#+sf#,t8&#&'#sL3#-_2sc#&0R+tos9tKB#%t><%#O'
9_s&#&0%tC#[)(t1+%sc#[/7t1#(tJt&+%#P3%t>'@P]2as[%sc#P&@s|tH#*#s:#sL&a*sitV&#,-'/#f#*#%
tv;*4#;,sD8.#'6.%s(#,-'#,-/#,-sA-&#+@P#7%tv;)4#[&js&4#&%>+sxbA#&b#>A#1#*2#Ib#>)#s'1s~1
a#&,%>+4#tI;7sp(sm*(#;A#J%#>)#Itt%tI)#'#%#+b9spt62#&tn'#)B#%Q8#4#>'9)su#&-4#)#:l[I3Z'#
'#/#1#'#/#1#&b1#Itt'Js'#s'Y2#&4t&)#*#6#9#9)(#+t&#)#'8#8kb1#71#&sxb#*s=bIsW1a#&#+#1#'#/
#&%#1#+(#>&.t;#'J#%>+(tI'#%s1'B%#+%#bItt'J#%#+(tI'm%#+%#b1#&tn'04#tI,#(sY-sp(sm*(#;'l>
#07#;)#&%e#%tV#.f'K#,t;t5-*#,#t5-&t?.%Q#g%Q#&#%n)#sR't?1#&t?.%Q#sc*tC,sr3#/#s8'V#KtC*s
c-&sk7#'#'/#'Lg%Q#/g(#8tc.%#sC&*#U%tT+#,7)'.(tq#*#-'sy#&#,-&0ks81sM'tB#%C7)#t_#'V)o#8%
#C&0s;#4#C'(#C)s3#7@)4t#&t*'tB#%iX8%C;&9j2sq(t164Z+#&09)(5'%CZ]2#J#:#%5<kO&%[+%C)%C#5'
%>)%Z#&%Kp)S3C#?0sR'%#Xj2#C56Z&0%#X)4CZ'9]2#*%s3C8%#s2,V)#-&0%X)4C5'%5]2#/%twCZ]2#*%s3
C8%#s2&0%s3C)B#'#ss]2#?(#0(^C)s3J4C)#t_#&4CY2#J4sr6tMp'6(<=')S&%#C)s>#8%^#s^s2?C#A2#:#
ti.%Kp?#HssA2tg.sCss'/#ss).sC%tE=&Js&#tatj+(tE=<(tMp'7tMp)s)s[#%D&.(#D'%s&=#7%#)#/]#*2
s3&%tW>,0h-)S84W*#/#%#&>s2&.4#D'4tLs&=#7%#)#/]#*2s3&(#s&=)(nt#.4#D&a*sitV&tS#,-&_s&4#t
S3%;,VY2#6#sN%#tS-&%tSj24#&%s&>Yo2#'V)#%Q80%tS#P#UL&@P)#4#/)#3#&a*sis<*#tR&Qsk83sQ,-&@
_m2#3#0%b#*%s13t('60^t(A2#'63#0teA2#&%Qss_2s33#tRs183%sQ,-P&a*si#+#tR&Qsk83sQ,-&@_m2#3
#0%b#+t('63#0teA2#K%s4&%Qss_2s33#tRs183%sQ,-P&@P)aJ4#)#3(tI&@P_s&(^#;7A#L%b.%tI&3#'9_#
%t(+%tI&a,0sM-:%#,-s(*si#&9_s&(^#;7#L%b.%tI.#sv&%#t?,./B.-1#84#(tI&tt'tIbA#%et.P<(su#t
&'VotKB#%;2tQ&a*si#t?&_s&sX0#).#'t:t*&3sTb'@_#%t(+%sT#sN%s16%#&sWt?#8O&s'#%iW*%sc6tC:%
sf+#sR:%#W&%t&#(#t.#*#;c't]s'1#&sx+sW1B#:%#,-s(D&%#F+%5'D'P'#'6#Z&@PA2#:(se*#%P#sv3ltP
&9)aU5#'/lt,)#.#&sO5#(E+#*l#&@P#(E+Lto#&%E).sHsv&sh?(5Asi#sL71#:t.n,sD8#sL6#/#-:#s9<t.
sj&@)#*tV#'#sG*#s:#s|<#*#t?&3Z'0(5tb(P#sQ,-'/sE)4Z+@5's>sEtN)#*[,sE-&sQ,sE'tN-&srt]#'#
*#4t>tB4CJk#P)d,#6tp-&#(5#K#5'#t1,-)aH%#5&@tq'9)tA*#sGV#%s|+#&@)#*5#'s@t]5#m#%#5#*'#t1
#*sI#+%5#%P&@P)a#%#5)#&#)s>%^t1&0d8(tuZP'@P)#*(5P&%s7t&;&#t1tK#'s@tl4t#09)a<hO&%se#se)
#:%#+%[#'/)#sl*#t1#&%#se,#sN%#-A2#8[,#-&#aU%#%#5#)s~&%;sat^s{*F.75?:s7'sG1#s0[,-&%5s})
s).(^s%/%5F)sF#*%t,+[,F'#'s%-&%5#A2#:#%serW.%5sHs.'6:#K4#57#sD4W&.%esh'#/#1tP+#?hs=rO7
1t/.%5sH1sl#*LsesLtcts&%t;#se)#K%#t/se,0h-/%#,tN&t8&[,#--+Lt/#sG&%t;#se)RV)(#+L+sW#&0t
i+%#7#'s>%5sH]#<tp&0%sesak#s2's>%5s%)#84tL#sT&%5s})s),#-8#,s}'#,-'s%-&%tR#K(tus6*#,-)7
#tH%5s},#hs9-*smsjK%s-/#J%5sHt=#(D&tt'#J%5sHt=#%D's9d#%5#t6sgsjdU%5t-&5tzj2#%isU+Z65s9
'6#%#5smtc.%t<sC&#%5s%sat^#:#%5s}'%5;)s~:#se,F'#'s%'#-,%#sl#1%Q8tosl*#-&@5;)%R7]2#:%#W
t%+#,-&5)4#sms~:%#0hs9.(5s}#*sq56#&@tH%#Wt%+#,-*#%5t_d#H#'#%56Z7t2S*#%s-s6)#H%iWsl*%P&
Js0%s7se['6hse7#[&^'%e#1#sn#%5;?%#t1,-#)aH%#+%^5.lP#sv&sn%5;)s~'9)sl*%5#.%5sH,0h-/%tw;
)sF.%sKs%8%d5&J(^5)s~:[&^'%;#8%s%sU)#*(^#sT/%#;)#&%^#)#.(#'V#%#s2+%5;&%#3#1#&sx#7gt^#'
#'#'#'#'#'#'/#&%es91S*#%s7s|+%#,-/#,-s(sA&.#'%se#&#sWs9.sv*#%#+#sG,#-8#sG*h56[,#s(c-'#
s=#&s&sX0Z_2#(,#6#-Z+5&0d'a*si#,Z'5-&s&sX0t1_2#(,#6#-t1+5&0d'a*si#,t1'5-&sk7sWs91#t[H%
[,se-+(5&s't62d85s9.%#5&@)#<%#+t.s971aHtP'm.@s*%Z)#(5&Js0[#'9)#*#(#[s0#&3sh'%#E#2S*#(E
.VL%te1+[#&#'#/#&#H#*si#sG7A2#U#/#:#&(5A#m2#09tb%t.5P5sQ,-&s&4;#%#+(#5:[Otg.tR&JdH(5'5
sQ,-)#(5P&8sD's;)k#39*2#<#J9)d&%#+5sQ,-)*#+#sG.sv*su#[#*sWsG&*si#sG7A2#U#/#:#'#_sq#K(t
0#57#5sQ,-'6#K#&#'Vsal#t&+5sQ,-&#+5sQ,-HsGd#+%t0#YB2#:#sD8#&s05sQ,-Hh53#s=sN[#)#&#'%#+
4;s0#]s6%sQ,-ZPdH%#5&tt'0%;t_#)#(5'%5P5sQ,-Y2a#&5sQ,-_s&(#;09)#d&tt'0(5sa(#se7tbsQ,-'#
%5Yt,.tJ#&4sh+@A2tg.%#T?Js0(5F.(G'sBO.%G1B#:s7'tN&t8&s*#,sE'tr-)#t3t.#.#&*2#*sy7#+G'%5
#*#(sd#s2&@5tGA2s{(sY+#&J@5)S.(5G<sBO'sOsBW]2#(rW's0%s_>.sd#8%r&%#+@s2)#*#9*,-
  `.replace(/\s/g, "");
  const SIGNS = Array.from({ length: 92 }, (_, i) => String.fromCharCode(35 + i))
    .filter((sign) => !"\\`$".includes(sign));
  const ONE = 77, DISCOUNT = 0.75, V = WORDS.length;

  // Counts of one, two and three words in a row
  const ones = new Array(V).fill(0), twos = new Map(), threes = new Map();
  const add = (table, key, word) => {
    if (!table.has(key)) table.set(key, new Map());
    const row = table.get(key);
    row.set(word, (row.get(word) ?? 0) + 1);
  };
  let before = -1, last = -1;
  for (let at = 0; at < CODE.length; at += 1) {
    let id = SIGNS.indexOf(CODE[at]);
    if (id >= ONE) {
      at += 1;
      id = ONE + (id - ONE) * SIGNS.length + SIGNS.indexOf(CODE[at]);
    }
    const word = id - 1;
    if (word >= 0) {
      ones[word] += 1;
      if (last >= 0) add(twos, last, word);
      if (last >= 0 && before >= 0) add(threes, before * V + last, word);
    }
    [before, last] = [last, word];
  }
  const all = ones.reduce((a, b) => a + b, 0);
  // Absolute discounting: each count gives a part of itself to the shorter context.
  const discounted = (row, shorter) => {
    if (!row) return shorter;
    const total = [...row.values()].reduce((a, b) => a + b, 0);
    const rest = (DISCOUNT * row.size) / total;
    return shorter.map((p, word) =>
      Math.max((row.get(word) ?? 0) - DISCOUNT, 0) / total + rest * p);
  };
  const model = (a, b) => discounted(threes.get(a * V + b),
    discounted(twos.get(b), ones.map((count) => count / all)));

  const START = ["the", "value", "of"], COMMON = 10, LENGTH = 40;
  const state = { temperature: 1, k: V, p: 1, least: 0 };
  let text = START.map((word) => WORDS.indexOf(word));
  const random = explore.random(1);
  const next = () => model(text.at(-2), text.at(-1));

  // Temperature, then top-k, top-p, min-p, each on what the one before has left.
  function choose(own) {
    const order = own.map((_, i) => i).sort((i, j) => own[j] - own[i] || i - j);
    const bent = explore.softmax(own.map((p) => Math.log(p) / state.temperature));
    let kept = order.slice(0, state.k);
    const share = () => kept.reduce((sum, i) => sum + bent[i], 0);
    let mass = 0;
    const total = share();
    kept = kept.filter((i) => {
      const stays = mass < state.p || state.p === 1;
      mass += bent[i] / total;
      return stays;
    });
    kept = kept.filter((i) => bent[i] >= state.least * bent[order[0]]);
    const left = share(), probabilities = new Array(V).fill(0);
    for (const i of kept) probabilities[i] = bent[i] / left;
    return { order, probabilities, kept: kept.length };
  }
  function draw() {
    const { probabilities } = choose(next());
    const at = random();
    let passed = 0, chosen = 0;
    for (let i = 0; i < V; i += 1) {
      if (probabilities[i] > 0) {
        passed += probabilities[i];
        chosen = i;
        if (at < passed) break;
      }
    }
    text.push(chosen);
  }
  const written = (ids) => ids.map((id) => WORDS[id]).join(" ")
    .replace(/ ([.,;:)])/g, "$1").replace(/\( /g, "(");

  // What is seen
  const prose = html("p", { style: "min-height:4.4em;margin:.2rem 0 .6rem" });
  const body = html("tbody"), say = explore.status();
  const rows = Array.from({ length: COMMON + 1 }, () => {
    const word = html("th", { scope: "row" }), own = html("td", { class: "number own" });
    const now = html("td", { class: "number now" }), bar = html("span", { class: "bar" });
    body.append(html("tr", {}, word, own, now,
      html("td", { "aria-hidden": "true", style: "width:55%" }, bar)));
    return { word, own, now, bar };
  });
  const table = html("table", { style: "width:100%" }, html("thead", {}, html("tr", {},
    html("th", { scope: "col" }, "next word"),
    html("th", { scope: "col", class: "number" }, "model"),
    html("th", { scope: "col", class: "number" }, "drawn from"),
    html("th", { "aria-hidden": "true" }))), body);
  function show() {
    const own = next(), { order, probabilities, kept } = choose(own);
    const fill = (row, word, p, q) => {
      row.word.textContent = word;
      explore.show(row.own, p, 3);
      explore.show(row.now, q, 3);
      row.bar.style.width = `${(100 * q).toFixed(1)}%`;
      row.bar.style.visibility = q > 0 ? "" : "hidden";
      row.word.style.opacity = row.now.style.opacity = q > 0 ? "" : 0.55;
    };
    const common = order.slice(0, COMMON);
    common.forEach((id, i) => fill(rows[i], WORDS[id], own[id], probabilities[id]));
    const rest = (p) => order.slice(COMMON).reduce((sum, id) => sum + p[id], 0);
    fill(rows[COMMON], `${V - COMMON} others`, rest(own), rest(probabilities));
    prose.replaceChildren(html("span", { class: "faint" }, written(text.slice(0, 3))),
      written(text).slice(written(text.slice(0, 3)).length), " …");
    explore.say(say, `${kept === V ? `All ${V} words remain` : kept === 1
      ? "One word remains" : `${kept} words remain`}. The likeliest is “${
      WORDS[order[0]]}”, now with ${explore.number(100 * probabilities[order[0]], 0)}%.`);
  }

  const on = (name) => (value) => { state[name] = value; show(); };
  const sliders = [
    explore.slider({ label: "temperature", min: 0.1, max: 3, step: 0.1, value: 1,
      text: (value) => explore.number(value, 1), change: on("temperature") }),
    explore.slider({ label: "top-k", min: 1, max: V, step: 1, value: V,
      text: (value) => (value === V ? "off" : String(value)), change: on("k") }),
    explore.slider({ label: "top-p", min: 0.05, max: 1, step: 0.05, value: 1,
      text: (value) => (value === 1 ? "off" : explore.number(value)), change: on("p") }),
    explore.slider({ label: "min-p", min: 0, max: 0.5, step: 0.01, value: 0,
      text: (value) => (value === 0 ? "off" : explore.number(value)),
      change: on("least") }),
  ];
  const write = (words) => {
    for (let i = 0; i < words; i += 1) draw();
    if (text.length > LENGTH + 3) text = text.slice(0, LENGTH + 3);
    set(one, { disabled: text.length >= LENGTH + 3 });
    show();
  };
  const one = html("button", { type: "button", onclick: () => write(1) }, "one word");
  const many = html("button", { type: "button", onclick: () => {
    text = text.slice(0, 3);
    write(LENGTH);
  } }, `${LENGTH} words`);
  const again = html("button", { type: "button", onclick: () => {
    text = text.slice(0, 3);
    write(0);
  } }, "start again");
  live.append(
    html("div", { class: "explore-controls" }, ...sliders.map(({ node }) => node)),
    html("div", { class: "explore-controls" }, "write", one, many, again),
    prose, table, say);
  write(0);
});
